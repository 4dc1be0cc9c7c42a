// A small piano: each pitch is a sum of a few decaying harmonics, computed once, and each note plays it with its own
// envelope. It needs no recorded samples.

const rollTone = {
  RATE: 32000, // samples per second; MIDI's highest pitch has 12.5 kHz
  HARMONICS: 10,

  /**
   * A pitch as samples between -1 and 1. A harmonic is a decaying sine, s(n) = 2 r cos(w) s(n - 1) - r² s(n - 2); the
   * higher ones are weaker, decay faster, and are slightly sharp, like those of a stiff string.
   */
  samples(pitch) {
    const { RATE } = rollTone, base = 440 * 2 ** ((pitch - 69) / 12);
    const decay = Math.max(.35, Math.min(4, 2.2 * 2 ** ((60 - pitch) / 24))); // seconds to 1/e of the first
    const samples = new Float32Array(Math.ceil(RATE * Math.min(6 * decay, 8)));
    for (let k = 1; k <= rollTone.HARMONICS; k++) {
      const angle = 2 * Math.PI * k * base * Math.sqrt(1 + .0004 * k * k) / RATE;
      if (k > 1 && angle > .9 * Math.PI) break;
      const fade = Math.exp(-(1 + .45 * (k - 1)) / (RATE * decay)), turn = 2 * fade * Math.cos(angle);
      const damp = fade * fade, end = Math.min(samples.length, Math.ceil(-9 / Math.log(fade))); // e⁻⁹ is inaudible
      for (let n = 1, last = 0, value = k ** -1.3 * fade * Math.sin(angle); n < end; n++) {
        samples[n] += value;
        const next = turn * value - damp * last;
        last = value;
        value = next;
      }
    }
    const attack = .003 * RATE, release = .05 * RATE, { length } = samples;
    let most = 1e-9;
    for (let n = 0; n < length; n++) most = Math.max(most, Math.abs(samples[n]));
    for (let n = 0; n < length; n++) samples[n] *= Math.min(1, n / attack, (length - n) / release) / most;
    return samples;
  },
};

class RollSound {
  /** Plays into an audio context: the page's, or one that renders offline. */
  constructor(context, loudness = .8) {
    this.context = context;
    this.voices = new Set();
    this.tones = new Map();
    this.bus = context.createGain();
    this.bus.gain.value = .4;
    const compressor = context.createDynamicsCompressor(); // chords are not much louder than single notes
    Object.entries({ threshold: -20, knee: 12, ratio: 8, attack: .004, release: .25 }).forEach(([name, value]) => { compressor[name].value = value; });
    this.master = context.createGain();
    const limiter = context.createWaveShaper(); // a soft limiter: rounds off peaks instead of clipping
    limiter.curve = Float32Array.from({ length: 2049 }, (_, i) => RollSound.limit((i - 1024) / 512));
    const half = context.createGain(); // the curve covers -2 to 2
    half.gain.value = .5;
    [this.bus, compressor, this.master, half, limiter, context.destination].reduce((from, to) => (from.connect(to), to));
    this.loudness = loudness;
  }

  static limit(x) {
    const size = Math.abs(x), knee = .6, room = .38;
    return size < knee ? x : Math.sign(x) * (knee + room * Math.tanh((size - knee) / room));
  }

  set loudness(part) { this.master.gain.value = part; }

  tone(pitch) {
    if (!this.tones.has(pitch)) {
      const samples = rollTone.samples(pitch), tone = this.context.createBuffer(1, samples.length, rollTone.RATE);
      tone.copyToChannel(samples, 0);
      this.tones.set(pitch, tone);
    }
    return this.tones.get(pitch);
  }

  /**
   * Schedule a note at a time on the context's clock, for `length` seconds; `offset`: the seconds of the note that have
   * already passed.
   */
  strike(pitch, velocity, when, length, offset = 0) {
    const { context } = this, tone = this.tone(pitch);
    if (offset >= tone.duration || this.voices.size >= RollSound.MOST) return;
    const source = context.createBufferSource(), gain = context.createGain(), end = when + Math.max(length, .08);
    source.buffer = tone;
    gain.gain.value = 0;
    gain.gain.setValueAtTime(0, when);
    gain.gain.linearRampToValueAtTime((velocity / 127) ** 1.7, when + (offset ? .012 : .002));
    gain.gain.setTargetAtTime(0, end, .07); // release
    source.connect(gain).connect(this.bus);
    source.start(when, offset);
    source.stop(end + .5);
    const voice = { source, gain };
    this.voices.add(voice);
    source.onended = () => { this.voices.delete(voice); gain.disconnect(); };
  }

  /** Stop all sounding notes, and cancel pending ones. */
  silence() {
    const now = this.context.currentTime;
    for (const { source, gain } of this.voices) {
      gain.gain.cancelScheduledValues(now);
      gain.gain.setTargetAtTime(0, now, .012);
      source.stop(now + .1);
    }
    this.voices.clear();
  }
}

RollSound.MOST = 256; // voices; more could not be distinguished
