// Reads the body of a request, with the size limit of the real API server.
import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { ApiError, badRequest } from '../api-error.ts';

const BODY_LIMIT = 3 * 1024 * 1024;

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
  }
  if (size > BODY_LIMIT)
    throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${BODY_LIMIT}`);
  return Buffer.concat(chunks).toString('utf8');
}

export function parsedBody(text: string, mediaType: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return mediaType.includes('yaml') ? parse(text) : JSON.parse(text);
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${mediaType}): ${(error as Error).message}`,
    );
  }
}

/** The media type without parameters. The default is JSON, as on the real API server. */
export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim() ?? '';
}
