# The dumbbell of `tests/behaviour/ns2.rs` in ns-2.35 (Debian: apt install ns2). Prints one line of CSV for the span from..to.
#
#   ns dumbbell.tcl AGENT FLOWS RATE DELAY LIMIT ERROR SEED FROM TO
#
# AGENT: Reno or Newreno. RATE, DELAY, LIMIT: of the bottleneck, in bit/s, seconds, packets. ERROR: share of data packets
# lost on the bottleneck's wire. FROM, TO: seconds. Segments of 1000 bytes, 40 bytes of header, each acknowledged.

lassign $argv agent flows rate delay limit error seed from to

ns-random $seed
Agent/TCP set window_ 100000
Agent/TCP set packetSize_ 1000
Agent/TCP set minrto_ 1.0
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $delay DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 100000
if {$error > 0} {
    set model [new ErrorModel]
    $model set rate_ $error
    $model unit pkt
    $model ranvar [new RandomVariable/Uniform]
    $model drop-target [new Agent/Null]
    $ns lossmodel $model $left $right
}
set monitor [$ns monitor-queue $left $right ""]

for {set flow 0} {$flow < $flows} {incr flow} {
    set source [$ns node]
    set sink [$ns node]
    $ns duplex-link $source $left 100000000 0.005 DropTail
    $ns duplex-link $right $sink 100000000 0.005 DropTail
    $ns queue-limit $source $left 100000
    $ns queue-limit $sink $right 100000
    set tcp($flow) [new Agent/TCP/$agent]
    $ns attach-agent $source $tcp($flow)
    set end [new Agent/TCPSink]
    $ns attach-agent $sink $end
    $ns connect $tcp($flow) $end
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($flow)
    $ns at [expr 0.311 * $flow] "$ftp start"
}

proc count {} {
    global tcp flows monitor
    set all {}
    for {set flow 0} {$flow < $flows} {incr flow} {
        lappend all [$tcp($flow) set ack_] [$tcp($flow) set nrexmit_]
    }
    return [concat [$monitor set pdrops_] [$monitor set pdepartures_] $all]
}
proc start {} {
    global before
    set before [count]
}
proc stop {} {
    global before flows argv
    set after [count]
    set segments 0
    set timeouts 0
    for {set at 2} {$at < [llength $after]} {incr at 2} {
        incr segments [expr [lindex $after $at] - [lindex $before $at]]
        incr timeouts [expr [lindex $after [expr $at + 1]] - [lindex $before [expr $at + 1]]]
    }
    set drops [expr [lindex $after 0] - [lindex $before 0]]
    puts "[join $argv ,],$segments,$drops,$timeouts"
    exit 0
}
$ns at $from start
$ns at $to stop
$ns run
