// A reporter for vitest that says how a run ended, for second-look.mjs: into the file that ISTHMUS_TEST_REPORT names. vitest's own JSON
// knows nothing of unhandled errors, and calls a file whose worker died "passed".
import { writeFileSync } from 'node:fs';

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
  }
}
