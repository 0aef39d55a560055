# a run on S3: signatures are checked by a server that was written without crank's code
kind=s3
stand_in() {
    export AWS_ENDPOINT_URL="http://127.0.0.1:$1" AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=SECRETEXAMPLE AWS_EC2_METADATA_DISABLED=true
}
. "$CLI/object_store.sh"
# a bucket of another region is found by what the store says
fault '{"region": "eu-central-1"}'
run crank ls "$at/data"
ends 0
fault '{"region": "us-east-1"}'
# a wrong secret, and none; the secret is in no message
AWS_SECRET_ACCESS_KEY=wrongsecret run crank ls "$at/data"
ends 1
has_err "...403 SignatureDoesNotMatch...; check the keys, and what they may do here"
no_err "...wrongsecret..."
# a long message gives way to the request's id
fault '{"say": " because no policy of the account and of the organisation allows the action s3:ListBucket on the resource"}'
AWS_SECRET_ACCESS_KEY=wrongsecret run crank ls "$at/data"
ends 1
has_err "...403 SignatureDoesNotMatch, ......, request REQ-...; check the keys, and what they may do here"
fault '{"say": ""}'
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...no keys were found...; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
# keys of a file
mkdir -p "$CASE_DIR/.aws"
printf '[other]\naws_access_key_id = x\n[default]\naws_access_key_id = AKIDEXAMPLE\n# a line\naws_secret_access_key = SECRETEXAMPLE\n' >"$CASE_DIR/.aws/credentials"
HOME=$CASE_DIR run crank ls "s3a://demo-bucket/data"
ends 0
AWS_ENDPOINT_URL=ftp://x HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...the address of the store in the environment has a scheme that is not http or https; write http://host:port or https://host into AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL"
AWS_ENDPOINT_URL=minio:9000 HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...is no http:// or https:// address; correct AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL"
# TLS where the store has none
AWS_ENDPOINT_URL=https://127.0.0.1:$port HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...(tried 8 times); check that the store speaks TLS here, or write http://"
over
# TLS: the certificate is checked, by the file that the user names
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out ca.pem 2>/dev/null
    cat key.pem ca.pem >both.pem
    server --cert both.pem
    export AWS_ENDPOINT_URL=https://127.0.0.1:$port AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=SECRETEXAMPLE
    run crank cp tiny.yaml "$at/tls/tiny.yaml"
    ends 1
    has_err "...certificate...; name the store's CA file in AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE"
    AWS_CA_BUNDLE=none.pem run crank cp tiny.yaml "$at/tls/tiny.yaml"
    ends 1
    has_err "...none.pem; name the store's CA file in AWS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE"
    for variable in AWS_CA_BUNDLE CURL_CA_BUNDLE SSL_CERT_FILE; do
        export $variable=ca.pem
        run crank cp tiny.yaml "$at/tls/tiny.yaml"
        ends 0
        run crank cp "$at/tls/tiny.yaml" "$variable.yaml"
        same tiny.yaml "$variable.yaml"
        unset $variable
    done
    over
fi
export AWS_ENDPOINT_URL=http://127.0.0.1:$port
# nobody listens any more
HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...(tried 8 times); check that the store can be reached, and run again"
