//! A calendar queue: R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set
//! problem", Communications of the ACM 31(10), 1988.
//!
//! It is faster than the engine's heap from some hundred waiting events on, and slower with the few dozen that a world of
//! a few cells has. Its cost depends on how events lie in time, and it allocates whenever it changes its year. So it is
//! a measure here, and not the engine's queue.

/// Events in the order of their time; at the same time, in the order in which they were scheduled.
#[derive(Debug)]
pub(crate) struct Calendar<E> {
    /// A day's events, the next one last. Their number is a power of two.
    days: Vec<Vec<Entry<E>>>,
    /// 2^`width` ns are a day.
    width: u32,
    /// The day, counted from the start of time, that is looked at.
    today: u64,
    now: u64,
    length: usize,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: u64,
    order: u64,
    event: E,
}

const DAYS_MIN: usize = 2;
/// How many events tell how far apart they are: Brown's 25.
const SAMPLE: usize = 25;

impl<E> Calendar<E> {
    pub(crate) fn new() -> Self {
        let days = (0..DAYS_MIN).map(|_| Vec::new()).collect();
        Self { days, width: 10, today: 0, now: 0, length: 0, scheduled: 0 }
    }

    pub(crate) fn push(&mut self, at: u64, event: E) {
        let entry = Entry { at: at.max(self.now), order: self.scheduled, event };
        self.scheduled += 1;
        // Whoever looked for the next event may have gone ahead of time.
        self.today = self.today.min(entry.at >> self.width);
        self.put(entry);
        self.length += 1;
        if self.length > 2 * self.days.len() {
            self.resize(self.days.len() * 2);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        if self.length == 0 {
            return None;
        }
        let mask = self.days.len() - 1;
        for _ in 0..self.days.len() {
            let day = &mut self.days[index(self.today) & mask];
            if day.last().is_some_and(|entry| entry.at >> self.width == self.today) {
                return self.pop_day(index(self.today) & mask);
            }
            self.today += 1;
        }
        // A whole year without an event: look for the first one of all.
        let firsts = self.days.iter().enumerate();
        let firsts =
            firsts.filter_map(|(day, events)| events.last().map(|entry| (entry.at, entry.order, day)));
        let (at, _, day) = firsts.min()?;
        self.today = at >> self.width;
        self.pop_day(day)
    }

    fn pop_day(&mut self, day: usize) -> Option<(u64, E)> {
        let entry = self.days[day].pop()?;
        self.now = entry.at;
        self.length -= 1;
        if self.days.len() > DAYS_MIN && self.length < self.days.len() / 2 {
            self.resize(self.days.len() / 2);
        }
        Some((entry.at, entry.event))
    }

    fn put(&mut self, entry: Entry<E>) {
        let mask = self.days.len() - 1;
        let day = &mut self.days[index(entry.at >> self.width) & mask];
        let key = (entry.at, entry.order);
        let position = day.partition_point(|other| (other.at, other.order) > key);
        day.insert(position, entry);
    }

    fn resize(&mut self, days: usize) {
        self.width = self.fitting_width();
        let events: Vec<_> = self.days.drain(..).flatten().collect();
        self.days.resize_with(days, Vec::new);
        for entry in events {
            self.put(entry);
        }
        self.today = self.now >> self.width;
    }

    /// Three times the mean distance of the next events, without those that are far apart.
    fn fitting_width(&self) -> u32 {
        let mut times: Vec<u64> = self.days.iter().flatten().map(|entry| entry.at).collect();
        let sample = SAMPLE.min(times.len());
        if sample < 2 {
            return self.width;
        }
        if times.len() > sample {
            times.select_nth_unstable(sample - 1);
            times.truncate(sample);
        }
        times.sort_unstable();
        let count = times.len() as u64 - 1;
        let mean = (times[times.len() - 1] - times[0]) / count;
        let near = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|distance| *distance <= 2 * mean);
        let (sum, count) = near.fold((0, 0), |(sum, count), distance| (sum + distance, count + 1));
        let day = (3 * sum / u64::max(count, 1)).max(1);
        day.next_power_of_two().trailing_zeros()
    }
}

fn index(day: u64) -> usize {
    usize::try_from(day & 0xffff_ffff).expect("32 bits fit")
}
