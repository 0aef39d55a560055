# a run on OSS: signatures are checked by a server that was written without crank's code
kind=oss
stand_in() {
    export OSS_ENDPOINT="http://127.0.0.1:$1" OSS_REGION=cn-hangzhou OSS_ACCESS_KEY_ID=AKIDEXAMPLE OSS_ACCESS_KEY_SECRET=SECRETEXAMPLE ALIBABA_CLOUD_ECS_METADATA_DISABLED=true
}
. "$CLI/object_store.sh"
# what the store has is not what was sent
fault '{"wrong_crc": 1}'
run crank cp tiny.yaml "$at/x.yaml"
ends 1
has_err "...the store has other bytes than were sent: its CRC-64 is 1 and not ..."
# what came is not what the store has, in a file of one range and in one of many
head -c 1500000 /dev/urandom >some.bin
for name in tiny.yaml some.bin; do
    run crank cp $name "$at/$name"
    fault '{"flip": 1}'
    run crank cp "$at/$name" flipped
    ends 1
    has_err "...other bytes came than the store has: their CRC-64 is ... and not ...; run again, and check the network if it stays"
    [ ! -e flipped ] || fail "a file with wrong bytes was left"
    run crank cp "$at/$name" back_$name
    same $name back_$name
done
# a bucket of another endpoint: the store says where it is
fault '{"moved": "oss-cn-beijing.aliyuncs.com"}'
run crank ls "$at/data"
ends 1
has_err "...403 AccessDenied...; the bucket is at oss-cn-beijing.aliyuncs.com: set OSS_ENDPOINT"
fault '{"moved": "", "timeout400": 2}'
run crank ls "$at/data"
ends 0
# a session token is signed
fault '{"token": "TOK"}'
OSS_SESSION_TOKEN=TOK run crank ls "$at/data"
ends 0
OSS_SESSION_TOKEN=OTHER run crank ls "$at/data"
ends 1
no_err "...OTHER..."
fault '{"token": ""}'
# the keys of a credentials URI
unset OSS_ACCESS_KEY_ID OSS_ACCESS_KEY_SECRET
HOME=$CASE_DIR run crank ls "$at/data"
ends 1
has_err "...no keys were found...; set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET"
unset OSS_ENDPOINT OSS_REGION
run crank ls "$at/data"
ends 1
has_err "...the region of the bucket is not known; set OSS_ENDPOINT, as in oss-cn-hangzhou.aliyuncs.com"
over
