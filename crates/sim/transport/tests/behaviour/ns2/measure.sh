#!/bin/sh
# Makes measured.csv and wire.csv with ns-2.35 (Debian: apt install ns2); some two minutes.
set -eu
cd "$(dirname "$0")"
{
    echo "agent,flows,rate,delay,limit,error,seed,from,to,segments,drops,timeouts"
    for agent in Reno Newreno; do
        ns dumbbell.tcl $agent 1 10000000 0.030 70 0 1 0 20
        ns dumbbell.tcl $agent 1 10000000 0.030 70 0 1 20 120
        ns dumbbell.tcl $agent 1 2000000 0.010 20 0 1 0 10
        ns dumbbell.tcl $agent 1 2000000 0.010 20 0 1 10 200
        ns dumbbell.tcl $agent 1 50000000 0.020 200 0 1 0 10
        ns dumbbell.tcl $agent 1 50000000 0.020 200 0 1 10 20
        for flows in 2 8 30; do
            ns dumbbell.tcl $agent $flows 10000000 0.030 70 0 1 50 350
        done
        for error in 0.0005 0.001 0.005 0.01; do
            for seed in 1 2 3 4; do
                ns dumbbell.tcl $agent 1 1000000000 0.040 70000 $error $seed 100 2100
            done
        done
    done
} >measured.csv
{
    echo "# agent,source,lost,end,sends (see wire.tcl)"
    few='9:0+12:0+13:0'
    first='0:0+6:0+7:0+8:0+9:0'
    for agent in Reno Newreno Vegas; do
        ns wire.tcl $agent greedy "$few" 0.95
        ns wire.tcl $agent greedy "$first" 3
        ns wire.tcl $agent voice '4:0+18:0+19:0+22:0+22:1+36:0' 9
        ns wire.tcl $agent voice "$first" 9
    done
    for agent in Reno Newreno; do
        ns wire.tcl $agent voice '-1:0' 9
    done
} >wire.csv
