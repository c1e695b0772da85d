# One flow over a wire of 47 ms in ns-2.35 (Debian: apt install ns2), with losses that are told. Prints what the sender does:
# milliseconds, and the number of the packet of the application (-1: the SYN).
#
#   ns wire.tcl AGENT SOURCE LOST END
#
# AGENT: Reno, Newreno or Vegas. SOURCE: `greedy`, or `voice`: a packet every 20 ms from 7 to 407, 1507 to 1807, 3107 to 3207
# and 8007 to 8207 ms. LOST: `packet:time` pairs, joined by `+`: what is lost when it is sent for the time-th time, from 0.
# END: seconds. 1 Gbit/s, so that a packet takes 8 us; not shown.

lassign $argv agent source lost end
set syn [expr {$agent ne "Vegas"}]
set ns [new Simulator]
# The phase of the sender's clock of 10 ms is drawn when it is reset: the first number of this seed is 0.
Agent/TCP instproc reset {} { ns-random 143581; $self cmd reset }
Agent/TCP set packetSize_ 1000
set tcp [new Agent/TCP/$agent]
set s [$ns node]
set d [$ns node]
$ns duplex-link $s $d 1e9 0.047 DropTail
$ns queue-limit $s $d 1000
$ns attach-agent $s $tcp
set sink [new Agent/TCPSink]
$ns attach-agent $d $sink
$ns connect $tcp $sink

ErrorModel/MultiState instproc init {} { $self next }
ErrorModel/MultiState instproc corrupt {} {
    global crossing crossed lost
    set packet [lindex $crossing 0]
    set crossing [lrange $crossing 1 end]
    if {![info exists crossed($packet)]} { set crossed($packet) 0 }
    set time $crossed($packet)
    incr crossed($packet)
    return [expr {[lsearch -exact [split $lost +] $packet:$time] >= 0}]
}
proc leaves {line} {
    global crossing ns syn out
    if {[lindex $line 0] ne "+"} return
    set packet [expr {[lindex $line 10] - $syn}]
    lappend crossing $packet
    lappend out "[expr {round([$ns now] * 1000)}]:$packet"
}
set crossing {}
set out {}
set model [new ErrorModel/MultiState]
$model drop-target [new Agent/Null]
$ns link-lossmodel $model $s $d
[$ns link $s $d] trace-callback $ns leaves
if {$source eq "greedy"} {
    $ns at 0.007 "$tcp advanceby 100000"
} else {
    foreach {from to} {7 407 1507 1807 3107 3207 8007 8207} {
        for {set at $from} {$at < $to} {incr at 20} { $ns at [expr $at / 1000.0] "$tcp advanceby 1" }
    }
}
proc stop {} {
    global argv out
    puts "[join $argv ,],[join $out { }]"
    exit 0
}
$ns at $end stop
$ns run
