/** What a tool of ours is, and how it is put on a server: its errors become answers an agent can act on. */
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Connection } from '../client/connect.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Api } from '../protocol/api.ts';
import { ANSWER_BYTES, bytesOf } from './answers/bounds.ts';
import type { Session } from './session.ts';

/**
 * Models read the text. A program that wants the data sets this in `_meta` of its call and gets it as structured
 * content.
 */
export const STRUCTURED = 'rollout-studio/structured';

/** What one call gets. */
export interface Call {
  readonly session: Session;
  readonly connection: Connection;
  readonly api: Api;
  /** Aborts when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Tells the client how far it is, if it wants to know. */
  readonly progress: (done: number, total: number | undefined, text: string) => Promise<void>;
}

export interface Answer<T> {
  readonly data: T;
  /** The same, to be read. */
  readonly text: string;
}

/** `read`: changes nothing. `run`: starts or changes work. `end`: ends work that does not come back. */
export type Effect = 'read' | 'run' | 'end';

export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly output: O;
  readonly effect: Effect;
  /** Whether doing it again changes nothing more; what only reads always is. */
  readonly idempotent?: boolean;
  /** Whether the outside world is touched: users' tools and models are called. */
  readonly openWorld?: boolean;
  run(given: z.output<I>, call: Call): Promise<Answer<z.input<O>>>;
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
      const answer = async (given: unknown, context: ServerContext): Promise<CallToolResult> => {
        try {
          const { signal } = context.mcpReq;
          const connection = await session.connection(signal);
          const call: Call = { session, connection, api: connection.api, signal, progress: progressOf(context) };
          const made = await tool.run(given as z.output<I>, call); // the server parsed it with `input`
          const result = resultOf(name, made);
          return context.mcpReq._meta?.[STRUCTURED] === true
            ? { ...result, structuredContent: tool.output.parse(made.data) }
            : result;
        } catch (error) {
          if (!StudioError.is(error)) throw error; // a fault of ours: the server tells it as one
          return { isError: true, content: [{ type: 'text', text: errorText(error) }] };
        }
      };
      // Without output schemas: they would be most of the list, which each client puts before its model.
      const inputSchema: z.ZodObject = tool.input;
      server.registerTool(name, { title, description, inputSchema, annotations }, answer);
    },
  };
}

function resultOf(name: string, { text }: Answer<unknown>): CallToolResult {
  const size = bytesOf(text);
  if (size > ANSWER_BYTES)
    throw new StudioError('internal', `${name} made an answer of ${size} bytes; ${ANSWER_BYTES} is the most.`, {
      hint: 'Ask for less at once, and report this.',
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
