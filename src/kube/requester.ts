// The one thing that writers need of a Kubernetes client. Types only.
import type { KubeClient } from './kube-client.ts';

export type Requester = Pick<KubeClient, 'request'>;
