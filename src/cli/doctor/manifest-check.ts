// Checks the manifests of `--source file:<dir>`: their number, and what is wrong with them.
import { FileSource, type FileSourceOptions } from '../../control/sources/file-source.ts';
import { type Check, ok, problem, warning } from './check.ts';

const SHOWN = 3;

export function manifestCheck(directory: string, settings: FileSourceOptions['settings']): Check {
  return {
    name: 'manifests',
    run: async () => {
      const source = new FileSource({ directory, settings });
      await source.start(() => {});
      const { complete, clusters, problems } = source.snapshot();
      const { listeners, machines } = source.listeners.snapshot();
      await source.stop();
      const proxied = clusters.filter(({ kind }) => kind === 'proxied').length;
      const beside =
        listeners.length === 0
          ? ''
          : `; ${listeners.length} AdditionalListeners and ${machines.length} Machines`;
      const counts = `${clusters.length} OpenStackClusters in ${directory}, ${proxied} of them proxied${beside}`;
      const invalid = clusters.flatMap((reading) =>
        reading.kind === 'invalid' ? [{ origin: reading.origin, reason: reading.reason }] : [],
      );
      for (const { definition, origin, problems: reasons } of listeners)
        if (definition === null) invalid.push({ origin, reason: reasons.join('; ') });
      const wrong = [...problems, ...invalid];
      if (wrong.length > 0) {
        const shown = wrong.slice(0, SHOWN).map(({ origin, reason }) => `${origin}: ${reason}`);
        const more = wrong.length > SHOWN ? `; and ${wrong.length - SHOWN} more` : '';
        // A skipped object, for example of another kind, is only a warning.
        const finding = complete && invalid.length === 0 ? warning : problem;
        return finding(
          `${counts}; ${shown.join('; ')}${more}`,
          'Correct these files; the others are not affected.',
        );
      }
      return clusters.length === 0
        ? warning(
            counts,
            `Write some there: kubectl get openstackclusters -A -o yaml > ${directory}/all.yaml`,
          )
        : ok(counts);
    },
  };
}
