/** Defines tools and registers them. Errors become responses that agents can act on. */
import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Connection } from '../client/connect.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Api } from '../protocol/api.ts';
import { ANSWER_BYTES, bytesOf } from './answers/bounds.ts';
import { type Consent, ConsentNeeded, requireConsent } from './permits/consent.ts';
import type { Session } from './session.ts';

/**
 * Models read the text. Programs can set this key in `_meta` of a call to get the data as structured content.
 */
export const STRUCTURED = 'rollout-studio/structured';

/** Context of a call. */
export interface Call {
  readonly session: Session;
  readonly connection: Connection;
  readonly api: Api;
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Reports progress, if the client requested it. */
  readonly progress: (done: number, total: number | undefined, text: string) => Promise<void>;
  /**
   * Continues only if a person allows it. Call it before anything is changed, and once, because the call is then
   * repeated with the response.
   */
  readonly consent: (consent: Consent) => void;
}

export interface Answer<T> {
  readonly data: T;
  /** The response as readable text. */
  readonly text: string;
}

/** `read`: no changes. `run`: starts or changes work. `end`: ends work irreversibly. */
export type Effect = 'read' | 'run' | 'end';

interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly output: O;
  readonly effect: Effect;
  /** Whether repeating it has no further effect. Always true for `read`. */
  readonly idempotent?: boolean;
  /** Whether it interacts with the outside world by calling users' tools and models. */
  readonly openWorld?: boolean;
  run(args: z.output<I>, call: Call): Promise<Answer<z.input<O>>>;
}

export interface StudioTool {
  readonly name: string;
  readonly effect: Effect;
  register(server: McpServer, session: Session): void;
}

export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(tool: ToolDefinition<I, O>): StudioTool {
  const { name, title, description, effect } = tool;
  const annotations = {
    title,
    readOnlyHint: effect === 'read',
    destructiveHint: effect === 'end',
    idempotentHint: effect === 'read' || tool.idempotent === true,
    openWorldHint: tool.openWorld === true,
  };
  return {
    name,
    effect,
    register: (server, session) => {
      const answer = async (args: unknown, context: ServerContext): Promise<CallToolResult | InputRequiredResult> => {
        try {
          const { signal } = context.mcpReq;
          const connection = await session.connection(signal);
          const call: Call = {
            session,
            connection,
            api: connection.api,
            signal,
            progress: progressOf(context),
            consent: (consent) => requireConsent(server, context, consent),
          };
          const response = await tool.run(args as z.output<I>, call); // the server parsed it with `input`
          const result = resultOf(name, response);
          return context.mcpReq._meta?.[STRUCTURED] === true
            ? { ...result, structuredContent: tool.output.parse(response.data) }
            : result;
        } catch (error) {
          if (error instanceof ConsentNeeded) return error.result;
          if (!StudioError.is(error)) throw error; // an internal error, which the server reports as such
          return { isError: true, content: [{ type: 'text', text: errorText(error) }] };
        }
      };
      // Omit output schemas, because clients put the tool list into the model's context.
      const inputSchema: z.ZodObject = tool.input;
      server.registerTool(name, { title, description, inputSchema, annotations }, answer);
    },
  };
}

function resultOf(name: string, { text }: Answer<unknown>): CallToolResult {
  const size = bytesOf(text);
  if (size > ANSWER_BYTES)
    throw new StudioError('internal', `The response of ${name} has ${size} bytes; the maximum is ${ANSWER_BYTES}.`, {
      hint: 'Request less at once, and report this problem.',
    });
  return { content: [{ type: 'text', text }] };
}

function progressOf({ mcpReq }: ServerContext): Call['progress'] {
  const token = mcpReq._meta?.progressToken;
  return async (progress, total, message) => {
    if (token === undefined) return;
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: token, progress, message, ...(total === undefined ? {} : { total }) },
    });
  };
}
