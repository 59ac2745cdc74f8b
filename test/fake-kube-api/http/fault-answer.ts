// Carries out one injected fault on one request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../api-error.ts';
import type { FaultAnswer } from '../faults.ts';

/** Returns true when the request must still be handled: the fault did not answer it. */
export async function applyFault(
  fault: FaultAnswer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  switch (fault.kind) {
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
      return !response.destroyed;
    case 'hang':
      request.resume();
      return false;
    case 'cut':
      request.socket.destroy();
      return false;
    case 'body':
      request.resume();
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(fault.text);
      return false;
    case 'status': {
      request.resume();
      const { code, retryAfterSeconds, message = 'injected by a test' } = fault;
      if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
      const reason = code === 429 ? 'TooManyRequests' : code === 503 ? 'ServiceUnavailable' : 'InternalError';
      const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      throw new ApiError(code, reason, message, details);
    }
  }
}
