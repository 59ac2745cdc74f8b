// Some tests repeat one step many times. `npm run nightly` runs them in their long form, with more repetitions of the same step.

export const longForm = process.env.ISTHMUS_TEST_LONG !== undefined;
