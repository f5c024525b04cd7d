/**
 * Asks a person before a tool does what an agent may not decide: spend more than allowed, send a value to a new place,
 * or repeat or end something irreversibly. Clients show the question through elicitation; without it, the tool refuses.
 */
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { sha256Hex } from '../../common/hash.ts';

/** What a person is asked for. */
export interface Consent {
  /** One sentence for each thing that needs a person; nothing is asked without any. */
  readonly reasons: readonly string[];
  /** How a person can do the same without the agent. */
  readonly instead: string;
}

/** Thrown to ask a person. The client then calls the tool again, with the response. */
export class ConsentNeeded extends Error {
  readonly result: InputRequiredResult;

  constructor(result: InputRequiredResult) {
    super('A person must be asked.');
    this.result = result;
  }
}

const response = z.object({
  allow: z.boolean().default(false).describe('Allow this once').meta({ title: 'Allow' }),
});

/** Returns if nothing needs a person, or a person allowed it. Throws ConsentNeeded, or StudioError `forbidden`. */
export function requireConsent(server: McpServer, context: ServerContext, { reasons, instead }: Consent): void {
  if (reasons.length === 0) return;
  const what = reasons.join(' ');
  if (!canAsk(server, context))
    throw new StudioError('forbidden', `A person must allow this, and this client cannot ask one. ${what}`, {
      hint: instead,
    });
  const message = `A coding agent requests this. ${what} Allow it?`;
  // The key binds a response to the question, so that no response permits something else.
  const key = `allow-${sha256Hex(Buffer.from(message)).slice(0, 16)}`;
  const responses = context.mcpReq.inputResponses;
  if (acceptedContent(responses, key, response)?.allow === true) return;
  if (inputResponse(responses, key).kind === 'elicit')
    throw new StudioError('forbidden', `A person did not allow this. ${what}`, {
      hint: `Ask what to do instead. ${instead}`,
    });
  throw new ConsentNeeded(
    inputRequired({ inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema: response }) } }),
  );
}

const capabilities = z.object({
  elicitation: z.object({ form: z.unknown().optional(), url: z.unknown().optional() }).optional(),
});

/** Whether the client shows forms. Older clients declare no modes and support only forms. */
function canAsk(server: McpServer, context: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = { ...context.mcpReq.envelope }; // of the newest protocol
  // oxlint-disable-next-line typescript/no-deprecated -- older clients declare them only once, when they connect
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {};
  const { elicitation } = capabilities.parse(declared);
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}
