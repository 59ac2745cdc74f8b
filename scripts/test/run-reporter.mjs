// A vitest reporter that writes how a run ended to the file in ISTHMUS_TEST_REPORT; second-look.mjs reads it. vitest's own JSON
// report omits unhandled errors and marks a file as "passed" when its worker died.
import { writeFileSync } from 'node:fs';

/** A leftover process of a test can keep its worker's output open. vitest would then wait for that process without a limit. */
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
