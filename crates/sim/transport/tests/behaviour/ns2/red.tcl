# Counts what RED drops on one link, for the same arrivals as tests/queues.rs.
#
#   ns red.tcl THRESH MAXTHRESH LINTERM Q_WEIGHT GENTLE WAIT SEED  ->  packets dropped, and the sum of their numbers
#
# 20,000 packets of 997 bytes over 1.234567 Mbit/s. The pauses between them, in microseconds, are 1 + x mod 12000 of the
# minimal standard generator x = 16807 x mod (2^31 - 1) from 1; after every 100th packet there are 200 ms more.

lassign $argv thresh maxthresh linterm q_weight gentle wait seed
set ns [new Simulator]
ns-random $seed
foreach {name value} [list thresh_ $thresh maxthresh_ $maxthresh linterm_ $linterm q_weight_ $q_weight gentle_ $gentle \
    wait_ $wait bytes_ false queue_in_bytes_ false mean_pktsize_ 500] {
    Queue/RED set $name $value
}
set from [$ns node]
set to [$ns node]
$ns simplex-link $from $to 1.234567Mb 10ms RED
# 49 waiting, and one being sent.
$ns queue-limit $from $to 49
set name red-[pid].tr
set file [open $name w]
$ns trace-queue $from $to $file
set udp [new Agent/UDP]
set sink [new Agent/Null]
$ns attach-agent $from $udp
$ns attach-agent $to $sink
$ns connect $udp $sink
set x 1
set micros 0
for {set number 0} {$number < 20000} {incr number} {
    set x [expr {$x * 16807 % 2147483647}]
    incr micros [expr {1 + $x % 12000}]
    if {$number % 100 == 99} { incr micros 200000 }
    $ns at [format %.6f [expr {$micros / 1e6}]] "$udp send 997"
}
$ns at [expr {$micros / 1e6 + 10}] finish
proc finish {} {
    global file name
    close $file
    set count 0
    set sum 0
    set in [open $name]
    while {[gets $in line] >= 0} {
        if {[string index $line 0] eq "d"} {
            incr count
            incr sum [lindex $line 11]
        }
    }
    close $in
    file delete $name
    puts "$count $sum"
    exit 0
}
$ns run
