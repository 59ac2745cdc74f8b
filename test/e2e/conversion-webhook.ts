// The conversion webhook of the OpenStack provider, for the fields that Isthmus reads, on the management cluster's address.
import { createServer, type Server } from 'node:https';
import { groupVersionOf, type StoredObject } from '../fake-kube-api/stored-object.ts';
import { convertOpenStackCluster } from '../fake-kube-api/types/openstack-cluster-conversion.ts';
import { selfSigned } from '../support/certificates.ts';
import { MANAGEMENT_ADDRESS } from './networks.ts';

const PORT = 9443;

interface ConversionReview {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly StoredObject[];
  };
}

export class ConversionWebhook {
  readonly #certificate = selfSigned(MANAGEMENT_ADDRESS);
  #server: Server | null = null;
  conversions = 0;

  /** The value for `spec.conversion` of the definition. */
  get conversion(): object {
    const caBundle = this.#certificate.cert.toString('base64');
    const url = `https://${MANAGEMENT_ADDRESS}:${PORT}/convert`;
    return {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url, caBundle } },
    };
  }

  start(): Promise<void> {
    const { key, cert } = this.#certificate;
    const server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const review = JSON.parse(Buffer.concat(chunks).toString()) as ConversionReview;
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(this.#converted(review)));
      });
    });
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(PORT, MANAGEMENT_ADDRESS, resolve);
    });
  }

  /** Stops the webhook, as during an upgrade of its Deployment: connections are refused. */
  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
    this.#server = null;
  }

  #converted({ request }: ConversionReview): object {
    const { uid, desiredAPIVersion, objects } = request;
    this.conversions += objects.length;
    const to = groupVersionOf(desiredAPIVersion);
    const convertedObjects = objects.map((object) => convertOpenStackCluster(object, to));
    const response = { uid, convertedObjects, result: { status: 'Success' } };
    return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response };
  }
}
