# backends.sh - configs and backend.yaml files of PaddleCloud's three kinds, and the stand-in client. Read by cases.
paddle_config() { # paddle_config DEVICE FLEET_MODE DATA_PATH
    cat >config.yaml <<END
workspace: "./"
mode: cloud
dataset:
- {name: d, batch_size: 4, type: DataLoader, data_path: "$3", sparse_slots: "click 1 2", dense_slots: "dense_feature:1"}
hyper_parameters: {optimizer: {class: adam, learning_rate: 0.1}, sparse_feature_number: 101, sparse_feature_dim: 4, fc_sizes: [8]}
runner:
- {name: cloud, class: cluster_train, device: $1, fleet_mode: $2, epochs: 2, save_checkpoint_path: output, print_interval: 3, phases: [p]}
phase:
- {name: p, model: "builtin:dnn", dataset_name: d, thread_num: 2}
END
}
head_of() {
    cat <<'END'
backend: "PaddleCloud"
END
    echo "cluster_type: $1"
    cat <<'END'
config:
  paddle_version: "1.7.2"
  fs_name: "afs://host.example:9902"
  fs_ugi: 'user,pa#ss&w\ord'
  output_path: "/user/out"
END
}
tail_of() {
    cat <<'END'
submit:
  ak: AKAKAK
  sk: SKSKSK
  priority: "normal"
  job_name: ctr
  group: ""
  files: ./config.yaml ./back*.yaml
  binary: image
END
}
backend_mpi() {
    head_of mpi
    cat <<'END'
  train_data_path: "/user/train"
  test_data_path: "/user/test"
  thirdparty_path: "/user/third"
  communicator:
    FLAGS_communicator_send_queue_size: 7
    FLAGS_rpc_retry_times: 5
END
    tail_of
    echo "  nodes: 2"
}
backend_k8s_collective() {
    head_of K8S
    echo '  afs_remote_mount_point: "/user/afs"'
    tail_of
    printf '  k8s-trainers: 2\n  k8s-cpu-cores: 4\n  k8s_gpu_card: 1\n'
}
backend_k8s_ps() {
    head_of k8s
    echo '  afs_remote_mount_point: "/user/afs"'
    tail_of
    printf '  k8s_trainers: 9\n  k8s_trainers: 2\n  k8s_ps_num: 3\n  k8s_ps_cores: 4\n'
}
standin() { # standin CLIENT: the one that stands in is on PATH; its calls go to the file `call`
    mkdir -p bin
    cp "$CLI/submit/$1" bin/
    chmod +x "bin/$1"
    PATH=$PWD/bin:$PATH
    STANDIN_LOG=$PWD/call
    export PATH STANDIN_LOG
}
