// The part of the story about labels. A tag on a cluster appears on all its published objects and disappears again. The node leaves
// and joins by its labels. Each sentence with a tick is checked before it is printed.
import { type DemoManagement, NAMESPACE, objectName } from './demo-management.ts';
import { seconds } from './demo-narrator.ts';
import { type DemoParts, NODE, NODE_LABEL } from './demo-story.ts';

const TAGS = 'isthmus.dev/resource-tags';
const TAG = { key: 'example.com/cost-centre', value: '4711' } as const;

export class LabelStory {
  readonly #parts: DemoParts;

  constructor(parts: DemoParts) {
    this.#parts = parts;
  }

  async tag(): Promise<void> {
    const { narrator, management } = this.#parts;
    narrator.step(
      'A tag for billing',
      `$ kubectl annotate openstackcluster ${objectName('alpha')} ${TAGS}=${TAG.key}=${TAG.value}`,
      'Every published object of alpha gets the tag, existing objects too. Labels of other users stay.',
    );
    management.labelService('alpha', { 'example.com/mine': 'stays' });
    const sinceMs = performance.now();
    management.annotateCluster('alpha', { [TAGS]: `${TAG.key}=${TAG.value}` });
    const isTagged = () => labelsOf(management, 'alpha').every((labels) => labels[TAG.key] === TAG.value);
    const ms = await narrator.until("the tag is on alpha's Service and slice", isTagged, sinceMs);
    narrator.check(
      labelsOf(management, 'beta').every((labels) => !(TAG.key in labels)),
      `${TAG.key}=${TAG.value} is on alpha's Service and EndpointSlice after ${seconds(ms)}, and on no object of beta`,
    );
    management.annotateCluster('alpha', { [TAGS]: null });
    const isClean = () => labelsOf(management, 'alpha').every((labels) => !(TAG.key in labels));
    await narrator.until('the tag is gone again', isClean);
    narrator.check(
      management.serviceLabels('alpha')['example.com/mine'] === 'stays',
      'after the annotation the tag is removed too; the label that another user set on the Service stays',
    );
  }

  async node(): Promise<void> {
    const { narrator, management, client } = this.#parts;
    narrator.step(
      'A label takes the node out and brings it back',
      'The instance takes part while its Node has the label in --node-selector. An operator removes the label:',
      `$ kubectl label node ${NODE} ${NODE_LABEL}-`,
    );
    const sinceMs = performance.now();
    management.labelNode(NODE, { [NODE_LABEL]: null });
    await narrator.until("alpha's EndpointSlice is terminating", () => management.isTerminating('alpha'));
    const ms = await narrator.until(
      'no slice of this node is left',
      () => ['alpha', 'beta'].every((name) => management.slices(name).length === 0),
      sinceMs,
    );
    narrator.check(
      management.hasService('alpha') && management.kubeconfig('alpha').includes(`alpha.${NAMESPACE}`),
      `slices marked as terminating, then deleted after ${seconds(ms)}; Services and kubeconfigs stay for the other nodes`,
    );
    const againMs = performance.now();
    management.labelNode(NODE, { [NODE_LABEL]: '' });
    const back = await narrator.until(
      'the slices are back',
      () => ['alpha', 'beta'].every((name) => management.isReady(name)),
      againMs,
    );
    const answer = await client.ask('alpha');
    narrator.check(
      answer.kind === 'answered',
      `the label is back: published and answering after ${seconds(back)}`,
    );
  }
}

/** The labels of the cluster's Service and slices. */
function labelsOf(management: DemoManagement, cluster: string): Readonly<Record<string, string>>[] {
  return [
    management.serviceLabels(cluster),
    ...management.slices(cluster).map(({ metadata }) => metadata.labels ?? {}),
  ];
}
