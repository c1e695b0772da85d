import type { Overview } from './api/overview.ts';
import type { Connection } from './page.svelte.ts';
import type { Speaker } from './words/speaker.ts';

/** How the household stands in one sentence: the heading of the page. */
export function headline(overview: Overview | null, connection: Connection, speaker: Speaker): string {
  if (connection === 'ended') return speaker.say('ended_heading');
  if (connection === 'used') return speaker.say('used_heading');
  if (connection === 'lost') return speaker.say('lost_heading');
  if (overview === null) return speaker.say('loading');
  switch (overview.standing.state) {
    case 'serving':
      return speaker.count('serving_heading', overview.guests.length + overview.left_out.guests);
    case 'nobody':
      return speaker.say('nobody_heading');
    case 'clock-wrong':
      return speaker.say('clock_heading');
    case 'store-locked':
      return speaker.say('store_heading');
    case 'home-away':
      return speaker.say('away_heading');
    case 'trouble':
      return speaker.say(overview.standing.on ? 'trouble_on_heading' : 'trouble_heading');
  }
}
