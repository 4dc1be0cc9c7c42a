// Dropout's draw: keep[i] is true with probability 1 - p. Number i comes from a counter, not from the number
// before it: "Parallel Random Numbers: As Easy as 1, 2, 3", Salmon et al. 2011 (Philox, 4 words, 10 rounds).

struct Words {
    unsigned x, y, z, w;
};

__device__ inline Words philox(unsigned long long counter, unsigned long long key) {
    Words c = {(unsigned)counter, (unsigned)(counter >> 32), 0, 0};
    unsigned key_x = (unsigned)key, key_y = (unsigned)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
        c = {(unsigned)(b >> 32) ^ c.y ^ key_x, (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ key_y, (unsigned)a};
        key_x += 0x9E3779B9u;
        key_y += 0xBB67AE85u;
    }
    return c;
}

// A word is dropped where it is below the threshold, p * 2^32.
extern "C" __global__ void keep_mask(bool* keep, i64 seed, i64 threshold, i64 count) {
    EACH_ELEMENT(four, (count + 3) / 4) {
        Words words = philox((unsigned long long)four, (unsigned long long)seed);
        unsigned drawn[4] = {words.x, words.y, words.z, words.w};
        for (int k = 0; k < 4 && 4 * four + k < count; ++k) keep[4 * four + k] = (i64)drawn[k] >= threshold;
    }
}
