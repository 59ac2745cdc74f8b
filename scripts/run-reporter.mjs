// A reporter for vitest that says how a run ended, for second-look.mjs: into the file that ISTHMUS_TEST_REPORT names. vitest's own JSON
// knows nothing of unhandled errors, and calls a file whose worker died "passed".
import { writeFileSync } from 'node:fs';

/** A process that a test left behind may hold the output of its worker, and vitest would wait for its end without a bound. */
const EXIT_MS = Number(process.env.ISTHMUS_TEST_EXIT_MS ?? 60_000);

export default class RunReporter {
  onTestRunEnd(modules, unhandledErrors, reason) {
    const files = modules.map((module) => ({
      file: module.moduleId,
      state: module.state(),
      tests: Array.from(module.children.allTests(), (test) => ({
        name: test.fullName,
        state: test.result().state,
      })),
    }));
    const report = { reason, unhandledErrors: unhandledErrors.length, files };
    writeFileSync(process.env.ISTHMUS_TEST_REPORT, JSON.stringify(report));
    setTimeout(() => {
      process.stderr.write(
        `\n! UNSTEADY: all tests have ended, and a process that one left behind keeps the run open\n`,
      );
      process.exit(reason === 'passed' ? 0 : 1);
    }, EXIT_MS).unref();
  }
}
