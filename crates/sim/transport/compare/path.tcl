# Calls and file transfers over the path of paper C in ns-2.35 (Debian: apt install ns2). Prints one row.
#
#   ns path.tcl AGENT FOLDER SECONDS THRESHOLD_MS NAME
#
# AGENT: UDP, Reno, Newreno or Vegas. FOLDER: has
#   arrivals  lines `flow seconds`, one for each packet of a call, in the order of time;
#   errors    lines `flow way number number ...`: which packets are lost on that flow's last link, counted from 0;
#             way 0: to the listener, 1: back from it;
#   bulk      lines `seconds`, one for each file transfer (Reno, packets of 1000 bytes, window 64): when it starts.
# NAME: what the row begins with.
#
# S --10 Mbit/s, 5 ms-- R1 ==2 Mbit/s, 10 ms== R2 ==2 Mbit/s, 10 ms== R3 --10 Mbit/s, 5 ms-- D; the transfers go
# X --10 Mbit/s, 5 ms-- R2 == R3 --10 Mbit/s, 5 ms-- Y. Queues of 50 packets.
#
# Row: NAME,made,sent,heard,late,heard_squares,again,timeouts,first_drops,second_drops,lost,acks_lost,bulk_heard,bulk_drops
#   made: packets of speech; sent: packets the agents sent (SYNs among them); heard: packets of speech handed to the
#   application at the far end, in order; late: those of them whose predecessor was handed over more than the threshold
#   earlier; heard_squares: the sum of squares of what each flow heard; again: packets sent again; timeouts: of the
#   retransmission timer with something on its way (Vegas: all); first_drops, second_drops: packets of calls that
#   the queues of R1 and R2 dropped; lost, acks_lost: on the last links; bulk_heard, bulk_drops: packets that the transfers
#   got through, and that R2 dropped of them.

lassign $argv agent folder seconds threshold_ms name
set threshold [expr {$threshold_ms * 1e-3}]
set bytes 160
set udp [expr {$agent eq "UDP"}]
set wire [expr {$udp || $agent eq "Vegas" ? $bytes : $bytes + 40}]

proc lines {name} {
    global folder
    set file [open $folder/$name]
    set lines {}
    foreach line [split [read $file] \n] { if {$line ne "" && ![string match "#*" $line]} { lappend lines $line } }
    close $file
    return $lines
}

# The phase of a sender's clock of 10 ms is drawn when it is reset, at the start of the run: with this seed it is 0.35 ns.
Agent/TCP instproc reset {} { ns-random 143581; $self cmd reset }

set ns [new Simulator]
proc cable {from to rate delay} {
    global ns
    $ns duplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to 50
    $ns queue-limit $to $from 50
}
foreach node {r1 r2 r3} { set $node [$ns node] }
cable $r1 $r2 2000000 0.010
cable $r2 $r3 2000000 0.010
set first [$ns monitor-queue $r1 $r2 ""]

# Told of each packet that the queue of R2 drops.
set bulk_drops 0
set second_drops 0
proc dropped {line} {
    global bulk_drops second_drops
    if {[lindex $line 5] > 1000} { incr bulk_drops } else { incr second_drops }
}
SimpleLink instproc tell-drops {ns command} {
    $self instvar drophead_ queue_ fromNode_ toNode_
    set teller [$ns create-trace Drop "" $fromNode_ $toNode_]
    $teller set callback_ 1
    $teller proc handle line "$command \$line"
    $teller target [$drophead_ target]
    $drophead_ target $teller
    $queue_ drop-target $drophead_
}
[$ns link $r2 $r3] tell-drops $ns dropped

proc heard {flow count} {
    global ns threshold heard late last
    set now [$ns now]
    if {[info exists last($flow)] && $now - $last($flow) > $threshold} { incr late }
    set last($flow) $now
    incr heard($flow) $count
}

# What TCP hands over: bytes of packets, headers among them; the SYN is one of 40 bytes.
Class Ear -superclass Application
Ear instproc recv {bytes} {
    $self instvar flow
    global wire
    set count [expr {$bytes / $wire}]
    if {$count > 0} { heard $flow $count }
}

# Both directions of the last links ask here, once for each packet that comes to the end of the cable.
ErrorModel/MultiState instproc init {} { $self next }
ErrorModel/MultiState instproc corrupt {} {
    $self instvar flow back number next
    global udp lost
    set this $number
    incr number
    if {$this == $next} {
        global errors
        incr lost($back)
        set errors($flow,$back) [lrange $errors($flow,$back) 1 end]
        set next [lindex [concat $errors($flow,$back) -1] 0]
        return 1
    }
    if {$udp && !$back} { heard $flow 1 }
    return 0
}
proc errors_on {from to flow back} {
    global ns errors
    if {![info exists errors($flow,$back)]} { set errors($flow,$back) {} }
    set model [new ErrorModel/MultiState]
    $model set flow $flow
    $model set back $back
    $model set number 0
    $model set next [lindex [concat $errors($flow,$back) -1] 0]
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $from $to
}

foreach line [lines errors] {
    set errors([lindex $line 0],[lindex $line 1]) [lrange $line 2 end]
}
array set lost {0 0 1 0}
set made 0
set late 0
set flows 0
Agent/TCP set packetSize_ $bytes
Agent/UDP set packetSize_ $bytes

# One more caller and listener.
proc call {flow} {
    global ns agent udp r1 r3 sender heard
    set from [$ns node]
    set to [$ns node]
    cable $from $r1 10000000 0.005
    cable $r3 $to 10000000 0.005
    set heard($flow) 0
    if {$udp} {
        set sender($flow) [new Agent/UDP]
        set sink [new Agent/Null]
        set ear {}
    } else {
        set sender($flow) [new Agent/TCP/$agent]
        set sink [new Agent/TCPSink]
        set ear [new Ear]
        $ear set flow $flow
    }
    $ns attach-agent $from $sender($flow)
    $ns attach-agent $to $sink
    $ns connect $sender($flow) $sink
    if {$ear ne ""} {
        $ear attach-agent $sink
        $ear start
    }
    errors_on $r3 $to $flow 0
    errors_on $to $r3 $flow 1
}
set arrivals {}
foreach line [lines arrivals] {
    lassign $line flow at
    while {$flows <= $flow} {
        call $flows
        incr flows
    }
    if {$at < $seconds} { lappend arrivals $at $flow }
}

# One event for the next arrival: all of them at once make the scheduler slow.
proc arrive {} {
    global ns udp sender bytes arrivals made
    set flow [lindex $arrivals [expr {2 * $made + 1}]]
    incr made
    if {2 * $made < [llength $arrivals]} { $ns at [lindex $arrivals [expr {2 * $made}]] arrive }
    if {$udp} { $sender($flow) send $bytes speech } else { $sender($flow) advanceby 1 }
}
if {[llength $arrivals] > 0} { $ns at [lindex $arrivals 0] arrive }

set bulks 0
foreach at [lines bulk] {
    set from [$ns node]
    set to [$ns node]
    cable $from $r2 10000000 0.005
    cable $r3 $to 10000000 0.005
    set bulk($bulks) [new Agent/TCP/Reno]
    $bulk($bulks) set packetSize_ 1000
    $bulk($bulks) set window_ 64
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $bulk($bulks)
    $ns attach-agent $to $sink
    $ns connect $bulk($bulks) $sink
    set taken($bulks) $sink
    $ns at $at "$bulk($bulks) advanceby 10000000"
    incr bulks
}

proc finish {} {
    global flows bulks sender taken heard late made udp lost first second_drops bulk_drops name
    foreach count {sent total squares again timeouts bulk_heard} { set $count 0 }
    for {set flow 0} {$flow < $flows} {incr flow} {
        incr total $heard($flow)
        incr squares [expr {$heard($flow) * $heard($flow)}]
        if {$udp} continue
        incr sent [$sender($flow) set ndatapack_]
        incr again [$sender($flow) set nrexmitpack_]
        incr timeouts [$sender($flow) set nrexmit_]
    }
    if {$udp} { set sent $made }
    # The SYN is a packet of 40 bytes, the others have 1040.
    for {set number 0} {$number < $bulks} {incr number} { incr bulk_heard [expr {[$taken($number) set bytes_] / 1040}] }
    puts "$name,$made,$sent,$total,$late,$squares,$again,$timeouts,[$first set pdrops_],$second_drops,$lost(0),$lost(1),$bulk_heard,$bulk_drops"
    exit 0
}
$ns at $seconds finish
$ns run
