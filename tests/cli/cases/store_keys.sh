# keys that a role gives: from a credentials URI, a container and a machine; they end while a training runs and are asked for
# anew, and the weights are those of a local run. The places where keys are found are played by the stand-in of the store.
kind=s3
stand_in() { export AWS_ENDPOINT_URL="http://127.0.0.1:$1" OSS_ENDPOINT="http://127.0.0.1:$1" OSS_REGION=cn-hangzhou; }
. "$CLI/store_server.sh"
tiny_config
tiny_data 960 300
run crank train tiny.yaml --model_dir local --set train_config.save_checkpoints_steps=10
trained_with_keys() { # trained_with_keys NAME: the keys of the environment, which end every 7 requests
    fault '{"rotate_each": 0}'
    run crank cp train.csv "$kind://demo-bucket/$1/train.csv"
    run crank cp eval.csv "$kind://demo-bucket/$1/eval.csv"
    fault '{"rotate_each": 7}'
    run crank train tiny.yaml --train_input_path "$kind://demo-bucket/$1/tr*.csv" --eval_input_path "$kind://demo-bucket/$1/eval.csv" --model_dir "$kind://demo-bucket/$1/model" --set train_config.save_checkpoints_steps=10
    ends 0
    fault '{"rotate_each": 0}'
    run crank cp -r "$kind://demo-bucket/$1/model" "back_$1"
    same_weights local "back_$1"
    [ "$(stat_of keys)" -gt 2 ] || fail "the keys did not end: asked for $(stat_of keys) times"
}
# S3: a container, with and without the word that it wants, and a machine (IMDSv2, then one that knows no tokens)
server
export AWS_EC2_METADATA_DISABLED=true
AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:$port/creds AWS_CONTAINER_AUTHORIZATION_TOKEN=word trained_with_keys container
# keys that are said to end soon are asked for before they do
fault '{"keys_s": 100}'
before=$(stat_of keys)
AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:$port/creds run crank cp -r s3://demo-bucket/container/model again
[ "$(stat_of keys)" -gt $((before + 3)) ] || fail "keys that end within 15 minutes were used on"
over
for imds in 2 1; do
    server --imds $imds
    unset AWS_EC2_METADATA_DISABLED
    AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:$port trained_with_keys machine$imds
    over
done
# the token of a pod is exchanged; one that is refused is told
server
printf 'POD-TOKEN\n' >token
export AWS_EC2_METADATA_DISABLED=true AWS_WEB_IDENTITY_TOKEN_FILE="$PWD/token" AWS_ENDPOINT_URL_STS="http://127.0.0.1:$port/sts"
AWS_ROLE_ARN=arn:aws:iam::1:role/a+b trained_with_keys pod
AWS_ROLE_ARN=arn:aws:iam::1:role/c run crank ls s3://demo-bucket/pod
ends 1
has_err "...http://127.0.0.1:$port/sts answers 403 and gives no keys for the role arn:aws:iam::1:role/c; check the role and whom it trusts"
has_err "...no keys were found..."
no_err "...POD-TOKEN..."
unset AWS_WEB_IDENTITY_TOKEN_FILE AWS_ENDPOINT_URL_STS
# a container whose word is in a file; a machine that gives no tokens is not asked where that is forbidden
echo word >token
AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:$port/word AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$PWD/token" run crank ls s3://demo-bucket/pod
ends 0
over
server --imds 1
unset AWS_EC2_METADATA_DISABLED
AWS_EC2_METADATA_V1_DISABLED=true AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:$port/notoken run crank ls s3://demo-bucket/pod
ends 1
has_err "...no keys were found..."
over
# a place that gives no keys, and an answer that is none
server
export AWS_EC2_METADATA_DISABLED=true
AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:$port/__stats run crank ls s3://demo-bucket
ends 1
has_err "...no keys were found...; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
over
# OSS: a credentials URI, and the role of an ECS machine, whose address only a proxy can stand in for
kind=oss
server
export ALIBABA_CLOUD_ECS_METADATA_DISABLED=true
ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds trained_with_keys uri
# a server of keys that fails now and then is asked again; keys that end soon are used on while it does not answer
fault '{"keys_fail": 2}'
ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank ls oss://demo-bucket/uri
ends 0
fault '{"keys_s": 600, "keys_fail_after": 1}'
ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank cp -r oss://demo-bucket/uri uri_copy
ends 0
fault '{"keys_s": 3600, "keys_fail_after": 0, "keys_fail": 0}'
# an answer that is no success gives no keys, and a line tells it
fault '{"keys_code": "Failed"}'
ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank ls oss://demo-bucket/uri
ends 1
has_err "...the address of ALIBABA_CLOUD_CREDENTIALS_URI gives no keys; its answer must have the status 200, Code \"Success\", ..."
has_err "...no keys were found..."
over
server
unset ALIBABA_CLOUD_ECS_METADATA_DISABLED
http_proxy=http://127.0.0.1:$port no_proxy=127.0.0.1 trained_with_keys role
http_proxy=http://127.0.0.1:$port no_proxy=127.0.0.1 ALIBABA_CLOUD_ECS_METADATA=a-role run crank ls oss://demo-bucket/role
has_out "... train.csv"
# the role of the machine comes before the credentials URI, as in Alibaba's own libraries
http_proxy=http://127.0.0.1:$port no_proxy=127.0.0.1 ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank ls oss://demo-bucket/role
ends 0
[ "$(stat_of uri)" -eq 0 ] || fail "the credentials URI was asked before the role of the machine"
over
server
export ALIBABA_CLOUD_ECS_METADATA_DISABLED=true
printf 'POD-TOKEN' >token
ALIBABA_CLOUD_ROLE_ARN=acs:ram::1:role/a+b ALIBABA_CLOUD_OIDC_PROVIDER_ARN=acs:ram::1:oidc-provider/x ALIBABA_CLOUD_OIDC_TOKEN_FILE=$PWD/token ALIBABA_CLOUD_STS_ENDPOINT=http://127.0.0.1:$port/sts trained_with_keys pod
over
# no secret and no token is in any message; proxies are told of, without their addresses
server
http_proxy=http://me:PASSWORD@127.0.0.1:$port no_proxy=127.0.0.1 ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank ls oss://demo-bucket/none --debug
ends 1
has_err "...requests obey http_proxy of the environment"
no_err "...PASSWORD..."
ALIBABA_CLOUD_CREDENTIALS_URI=http://127.0.0.1:$port/creds run crank ls oss://demo-bucket/none --debug
ends 1
no_err "...SECRET1..."
no_err "...TOKEN1..."
over
