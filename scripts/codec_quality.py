#!/usr/bin/env python3
"""Narrowband PESQ (ITU-T P.862, mapped by P.862.1) of the codecs that paper D compares, on speech made here.

    python3 -m venv /tmp/pesq && /tmp/pesq/bin/pip install numpy scipy pesq
    apt-get install espeak-ng flite libgsm1
    cargo build --release --package guestright-codec --example transcode
    /tmp/pesq/bin/python scripts/codec_quality.py

The ITU's reference code in `pesq` is for evaluation only, and no part of this project. Speech: the file of the tests, and
eight sentences by three voices of flite (made of recordings) and one of espeak-ng (synthetic), at -26 dBov with noise at
-66 dBov. GSM at 4,410 Hz is resampled there and back by scipy's polyphase filter; what it is compared with is the speech at
8 kHz, as the person at the telephone would.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pesq import pesq
from scipy.io import wavfile
from scipy.signal import resample_poly

ROOT = Path(__file__).resolve().parent.parent
RATE = 8000
SENTENCES = [
    "The small pup gnawed a hole in the sock.",
    "The fish twisted and turned on the bent hook.",
    "Press the pants and sew a button on the vest.",
    "The swan dive was far short of perfect.",
    "The beauty of the view stunned the young boy.",
    "Two blue fish swam in the tank.",
    "Her purse was full of useless trash.",
    "The colt reared and threw the tall rider.",
]
VOICES = [("flite", "slt"), ("flite", "awb"), ("flite", "rms"), ("espeak-ng", "en-gb-scotland+f1")]
# Codec, bytes of a packet, and the rate at which it works.
CASES = [("gsm", 0, RATE), ("gsm-lite", 0, RATE), ("gsm", 0, 4410), ("gsm-lite", 0, 4410)]
CASES += [("adpcm-pgpfone", 0, RATE), ("lpc10", 0, RATE)]
CASES += [(codec, bytes, RATE) for codec in ("w1", "w2") for bytes in (28, 34, 40, 56, 66, 80, 112, 160, 224, 320)]


def resampled(samples, rate, to):
    common = math.gcd(rate, to)
    return resample_poly(samples, to // common, rate // common)


def say(program, voice, text, path):
    named = {"flite": ["-voice", voice, "-t", text, "-o", path], "espeak-ng": ["-v", voice, "-s", "165", "-w", path, text]}
    subprocess.run([program, *named[program]], check=True, stderr=subprocess.DEVNULL)
    rate, samples = wavfile.read(path)
    samples = resampled(samples.astype(float) / 32768, rate, RATE)
    frames = samples[: len(samples) // 160 * 160].reshape(-1, 160)
    energy = (frames**2).mean(1)
    active = energy[energy > energy.max() * 1e-3].mean()
    return np.concatenate([samples * 10 ** (-26 / 20) / math.sqrt(active), np.zeros(3200)])


def sixteen_bits(samples):
    return np.clip(np.round(samples), -32768, 32767).astype(np.int16)


def speech(folder):
    yield "tests", wavfile.read(ROOT / "crates/io/audio/speech/speech-8k.wav")[1]
    noise = np.random.default_rng(2003)
    for program, voice in VOICES:
        said = np.concatenate([say(program, voice, text, f"{folder}/say.wav") for text in SENTENCES])
        yield voice.split("+")[0], sixteen_bits((said + noise.normal(0, 10 ** (-66 / 20), len(said))) * 32768)


def heard(program, codec, bytes, rate, said, folder):
    wavfile.write(f"{folder}/in.wav", rate, said if rate == RATE else sixteen_bits(resampled(said, RATE, rate)))
    subprocess.run([program, codec, str(bytes), f"{folder}/in.wav", f"{folder}/out.wav"], check=True)
    samples = wavfile.read(f"{folder}/out.wav")[1]
    return samples if rate == RATE else sixteen_bits(resampled(samples, rate, RATE))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/examples/transcode"
    with tempfile.TemporaryDirectory() as folder:
        all_speech = list(speech(folder))
        print("| codec | bytes | Hz |", " | ".join(name for name, _ in all_speech), "| mean |", flush=True)
        print("| --- " * (len(all_speech) + 4) + "|")
        for codec, bytes, rate in CASES:
            scores = []
            for _, said in all_speech:
                other = heard(program, codec, bytes, rate, said, folder)
                length = min(len(said), len(other))
                scores.append(pesq(RATE, said[:length], other[:length], "nb"))
            row = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {codec} | {bytes} | {rate} | {row} | {np.mean(scores):.2f} |", flush=True)


main()
