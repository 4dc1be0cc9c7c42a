// The playback position and note scheduling. Notes are scheduled ahead of time on the audio clock, so that a busy or
// background page does not stutter.

class RollTransport {
  /**
   * `music`: the notes as arrays, `order` by time, `seconds` in total, and `reach`, when all notes up to an index in order
   * have ended. `isAudible(note)`: whether it is not muted. `onChange()` is called when playback changes.
   */
  constructor(music, isAudible, onChange) {
    Object.assign(this, { music, isAudible, onChange });
    Object.assign(this, { sound: null, playing: false, at: 0, since: 0, next: 0, timer: null });
    this.pace = 1;
    this.volume = .8;
  }

  /** The audio clock; without sound, the page's clock. */
  get now() { return this.sound ? this.sound.context.currentTime : performance.now() / 1000; }

  /** The position in the music, in seconds at normal speed. */
  get position() {
    if (!this.playing) return this.at;
    return Math.min(Math.max(this.at, this.at + (this.now - this.since) * this.pace), this.music.seconds);
  }

  async play() {
    if (this.playing) return;
    if (this.at >= this.music.seconds) this.at = 0;
    this.playing = true;
    this.since = Infinity; // not started yet
    this.onChange();
    clearTimeout(this.rest);
    if (!this.sound && window.AudioContext) this.sound = new RollSound(new AudioContext(), this.volume);
    if (this.sound && this.sound.context.state !== "running") await this.sound.context.resume();
    if (this.playing && !this.timer) this.begin();
  }

  /** Play from the current position on, including notes that began earlier and still sound. */
  begin() {
    const { order, starts, ends, pitches, reach } = this.music, until = this.at + RollTransport.AHEAD * this.pace;
    let i = RollTransport.first(order.length, (k) => reach[k] > this.at);
    for (let k = i; this.sound && k < order.length && starts[order[k]] < until; k++) this.sound.tone(pitches[order[k]]); // slow: before the start
    this.since = this.now + RollTransport.LEAD;
    for (; i < order.length && starts[order[i]] < this.at; i++) {
      if (ends[order[i]] - this.at > .05) this.strike(order[i]);
    }
    this.next = i;
    this.timer = setInterval(() => this.tick(), RollTransport.EVERY);
    this.tick();
  }

  tick() {
    const { order, starts, seconds } = this.music, until = this.at + (this.now + RollTransport.AHEAD - this.since) * this.pace;
    for (; this.next < order.length && starts[order[this.next]] < until; this.next++) this.strike(order[this.next]);
    if (this.position >= seconds) this.halt(true);
  }

  /** Schedule a note, without the part that has already elapsed. */
  strike(note) {
    const { starts, ends, pitches, velocities } = this.music;
    if (!this.sound || !this.isAudible(note)) return;
    const begin = Math.max(starts[note], this.at), when = this.since + (begin - this.at) / this.pace;
    this.sound.strike(pitches[note], velocities[note], when, (ends[note] - begin) / this.pace, (begin - starts[note]) / this.pace);
  }

  /** Pause here; `ring`: let sounding notes decay by themselves. */
  halt(ring = false) {
    if (!this.playing) return;
    this.at = this.position;
    this.playing = false;
    clearInterval(this.timer);
    this.timer = null;
    if (this.sound && !ring) this.sound.silence();
    this.rest = setTimeout(() => { if (!this.playing) this.sound?.context.suspend(); }, 3000);
    this.onChange();
  }

  stop() {
    this.halt();
    this.sound?.silence();
    this.at = 0;
    this.onChange();
  }

  seek(seconds) { this.restart(() => { this.at = Math.max(0, Math.min(seconds, this.music.seconds)); }); }

  set speed(pace) { this.restart(() => { this.pace = pace; }); }

  set loudness(part) {
    this.volume = part;
    if (this.sound) this.sound.loudness = part;
  }

  /** Apply a change, and resume playback if it was running. */
  restart(change) {
    const wasPlaying = this.playing && this.timer;
    if (wasPlaying) {
      this.at = this.position;
      clearInterval(this.timer);
      this.timer = null;
      this.sound?.silence();
    }
    change();
    if (wasPlaying) this.begin();
    this.onChange();
  }

  /** Binary search: the first index below `count` for which the condition holds, else `count`. */
  static first(count, is) {
    let low = 0, high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (is(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

RollTransport.AHEAD = 1.5; // seconds on the clock; a background page's timers fire once per second
RollTransport.LEAD = .08; // seconds before the first note
RollTransport.EVERY = 200; // milliseconds
