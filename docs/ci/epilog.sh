#!/usr/bin/env bash
# The last lines of a batch script, or an EpilogSlurmctld: says why a job died, where its log lies.
#   GATE_RUN   the folder with the job's output; default: the folder it was submitted from
# A failed gate must not drain the node, so an epilog exits 0; a batch script passes the status on.
set -u
run=${GATE_RUN:-${SLURM_SUBMIT_DIR:-.}}
dflash-forensics gate "$run" -o text="$run/gate-${SLURM_JOB_ID:-0}.txt"
status=$?
if [ "${GATE_STATUS:-pass-on}" = ignore ]; then
    exit 0
fi
exit "$status"
