/** argon2id with the first parameter set that OWASP recommends: 19 MiB, two passes, one lane; about 20 ms on a small core. */
export const ARGON2ID = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
