# One flow over three hops in ns-2.35 (Debian: apt install ns2), with losses that are told to it. Prints what the sender does.
#
#   ns scripted.tcl AGENT SOURCE LOST ACKS_LOST END
#
# AGENT: Reno, Newreno or Vegas. SOURCE: `greedy`, or a file with lines `flow seconds`, one for each packet.
# LOST: `packet:time` pairs, joined by `+`: that packet of the application is lost when it crosses the last link for the
# time-th time (both from 0; packet -1 is the SYN). ACKS_LOST: numbers of acknowledgements on the way back over that link,
# from 0, joined by `+`. `-` for none. END: seconds.
#
# S --10 Mbit/s, 5 ms-- R1 ==2 Mbit/s, 10 ms== R2 ==2 Mbit/s, 10 ms== R3 --10 Mbit/s, 5 ms-- D, queues of 50 packets.
#
# Rows: nanoseconds,event,packet,cwnd,ssthresh,dupacks,rtt_ticks,backoff
#   send: a packet leaves the sender; ack: an acknowledgement of everything up to `packet` arrives (as it was before it);
#   heard: a packet arrives at the other end; lost, acklost: on the last link; drop: at a queue.

set tcl_precision 17
lassign $argv agent source lost acks_lost end
set syn [expr {$agent ne "Vegas"}]

set ns [new Simulator]
# The phase of the sender's clock of 10 ms is drawn when it is reset, at the start of the run: with this seed it is 0.35 ns.
Agent/TCP instproc reset {} { ns-random 143581; $self cmd reset }
Agent/TCP set packetSize_ 160
set tcp [new Agent/TCP/$agent]
foreach node {s r1 r2 r3 d} { set $node [$ns node] }
foreach {from to rate delay} {s r1 10000000 0.005 r1 r2 2000000 0.010 r2 r3 2000000 0.010 r3 d 10000000 0.005} {
    $ns duplex-link [set $from] [set $to] $rate $delay DropTail
    $ns queue-limit [set $from] [set $to] 50
    $ns queue-limit [set $to] [set $from] 50
}
$ns attach-agent $s $tcp
set sink [new Agent/TCPSink]
$ns attach-agent $d $sink
$ns connect $tcp $sink

proc row {event packet} {
    global ns tcp
    set at [expr {round([$ns now] * 1e9)}]
    puts "$at,$event,$packet,[$tcp set cwnd_],[$tcp set ssthresh_],[$tcp set dupacks_],[$tcp set rtt_],[$tcp set backoff_]"
}
proc packet {line} {
    global syn
    return [expr {[lindex $line 10] - $syn}]
}
proc leaves {line} { if {[lindex $line 0] eq "+"} { row send [packet $line] } elseif {[lindex $line 0] eq "d"} { row drop [packet $line] } }
proc comes {line} { if {[lindex $line 0] eq "r"} { row ack [packet $line] } }
proc crosses {line} {
    global crossing
    switch [lindex $line 0] {
        + { lappend crossing [packet $line] }
        r { row heard [packet $line] }
    }
}

# Both directions of the last link ask here, once for each packet.
ErrorModel/MultiState instproc init {} { $self next }
ErrorModel/MultiState instproc corrupt {} {
    $self instvar back
    global crossing crossed acks lost acks_lost
    if {$back} {
        set number $acks
        incr acks
        if {[lsearch -exact [split $acks_lost +] $number] >= 0} { row acklost $number; return 1 }
        return 0
    }
    set packet [lindex $crossing 0]
    set crossing [lrange $crossing 1 end]
    if {![info exists crossed($packet)]} { set crossed($packet) 0 }
    set time $crossed($packet)
    incr crossed($packet)
    if {[lsearch -exact [split $lost +] $packet:$time] >= 0} { row lost $packet; return 1 }
    return 0
}
set crossing {}
set acks 0
foreach {from to back} {r3 d 0 d r3 1} {
    set model [new ErrorModel/MultiState]
    $model set back $back
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model [set $from] [set $to]
}
[$ns link $s $r1] trace-callback $ns leaves
[$ns link $r1 $s] trace-callback $ns comes
[$ns link $r3 $d] trace-callback $ns crosses

if {$source eq "greedy"} {
    $ns at 0.0013 "$tcp advanceby 100000"
} else {
    set file [open $source]
    while {[gets $file line] >= 0} {
        if {[string match "#*" $line]} continue
        $ns at [lindex $line 1] "$tcp advanceby 1"
    }
    close $file
}
puts "# $argv"
puts "# nanoseconds,event,packet,cwnd,ssthresh,dupacks,rtt_ticks,backoff"
$ns at $end "exit 0"
$ns run
