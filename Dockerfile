# An image with crank: built in the first stage, copied into the second, which gets no package.
#   docker build -t crank .                       (or podman, or buildah build)
#   docker run --rm -v "$PWD:/work" crank train pipeline.yaml
# BASE is a Debian 12; another registry's, or one that was made without a registry (docs/guide/install.md).
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates file libmpich-dev make && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
RUN apt-get update && make static && mkdir /crank && tar -C /crank --strip-components=1 -xzf out/crank-*-linux-x86_64.tar.gz

FROM ${BASE}
COPY --from=build /crank /opt/crank
RUN ln -s /opt/crank/crank /usr/local/bin/crank && crank version
WORKDIR /work
ENTRYPOINT ["crank"]
CMD ["help"]
