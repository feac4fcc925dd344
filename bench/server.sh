#!/usr/bin/env bash
# Durable submits and pages of a long list, through gRPC, by a server process on SQLite:
# bench/server.sh [flags of bench_server]. KEIKO_BENCH_DIR names the disk (default: the build's),
# KEIKO_BUILD_DIR the build.
