import fc from "fast-check"

// The same cases in every run of the tests. `npm run prove -- properties` tries others and prints its seed.
fc.configureGlobal({ seed: Number(process.env.LONGHAUL_PROPERTY_SEED ?? 20_261_118) })
