# What benches/ns2.rs gives ns-2.35 (Debian: apt install ns2) to run. Prints how many packets arrived at the end of a link.
#
#   ns bench.tcl SCENARIO SECONDS SEED COUNT
#
# SCENARIO: udp, vegas (120 calls over the path of path.tcl, with ns-2's own Pareto sources, no errors) or greedy (60
# transfers by Reno, packets of 1000 bytes, over a bottleneck of 100 Mbit/s). SECONDS: 0 is the set-up alone. COUNT: 1 to
# count packets, which costs time; 0 prints 0.

lassign $argv scenario seconds seed count
ns-random $seed
set ns [new Simulator]
set monitors {}
proc cable {from to rate delay limit} {
    global ns monitors count
    $ns duplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to $limit
    $ns queue-limit $to $from $limit
    if {$count} { lappend monitors [$ns monitor-queue $from $to ""] [$ns monitor-queue $to $from ""] }
}
proc flow {from to agent sink} {
    global ns
    $ns attach-agent $from $agent
    $ns attach-agent $to $sink
    $ns connect $agent $sink
}
foreach node {r1 r2 r3} { set $node [$ns node] }
if {$scenario eq "greedy"} {
    cable $r1 $r3 100000000 0.020 250
    set flows 60
} else {
    cable $r1 $r2 2000000 0.010 50
    cable $r2 $r3 2000000 0.010 50
    set flows 120
}
Agent/UDP set packetSize_ 160
Agent/TCP set packetSize_ [expr {$scenario eq "greedy" ? 1000 : 160}]
if {$scenario eq "greedy"} { Agent/TCP set window_ 64 }
for {set number 0} {$number < $flows} {incr number} {
    set from [$ns node]
    set to [$ns node]
    if {$scenario eq "greedy"} {
        cable $from $r1 100000000 0.005 1000
        cable $r3 $to 100000000 0.005 1000
        set agent [new Agent/TCP/Reno]
        flow $from $to $agent [new Agent/TCPSink]
        $ns at [expr {$number * 2.0 / $flows}] "$agent advanceby 100000000"
        continue
    }
    cable $from $r1 10000000 0.005 50
    cable $r3 $to 10000000 0.005 50
    if {$scenario eq "udp"} {
        set agent [new Agent/UDP]
        flow $from $to $agent [new Agent/Null]
    } else {
        set agent [new Agent/TCP/Vegas]
        flow $from $to $agent [new Agent/TCPSink]
    }
    set source [new Application/Traffic/Pareto]
    $source set packetSize_ 160
    $source set rate_ 64k
    $source set burst_time_ 1.0
    $source set idle_time_ 1.35
    $source set shape_ 1.5
    $source attach-agent $agent
    $ns at [expr {$number * 2.0 / $flows}] "$source start"
}
proc finish {} {
    global monitors
    set hops 0
    foreach monitor $monitors { incr hops [$monitor set pdepartures_] }
    puts $hops
    exit 0
}
$ns at $seconds finish
$ns run
