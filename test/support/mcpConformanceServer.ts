/**
 * Our MCP server as the protocol's conformance suite wants it: the same core, transport, and wiring, plus the tools
 * that the suite calls by name. Only the fixtures do what the product does not (logging, sampling, elicitation,
 * subscriptions).
 */
import {
  type CallToolResult,
  completable,
  type ElicitResult,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { mcpServer } from '../../src/mcp/server.ts';
import type { Session } from '../../src/mcp/session.ts';

/** 1x1 pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A header and no samples. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });

/** Creates our server with the suite's fixtures. */
export function conformanceServer(session: Session): McpServer {
  const server = mcpServer(session);
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true } });
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  contents(server);
  notifying(server);
  asking(server);
  resources(server);
  prompts(server);
  return server;
}

function contents(server: McpServer): void {
  const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
  const resource = (uri: string): CallToolResult['content'][number] => ({
    type: 'resource',
    resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
  });
  const answers: Readonly<Record<string, CallToolResult>> = {
    test_simple_text: text('This is a simple text response for testing.'),
    test_image_content: { content: [image] },
    test_audio_content: { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] },
    test_embedded_resource: { content: [resource('test://embedded-resource')] },
    test_multiple_content_types: {
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        resource('test://mixed-content-resource'),
      ],
    },
  };
  for (const [name, answer] of Object.entries(answers)) server.registerTool(name, { description: name }, () => answer);
  server.registerTool('test_error_handling', { description: 'Fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Tool with JSON Schema 2020-12 features',
      inputSchema: fromJsonSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
        properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
        additionalProperties: false,
      }),
    },
    () => text('fine'),
  );
}

function notifying(server: McpServer): void {
  server.registerTool('test_tool_with_logging', { description: 'Logs.' }, async (context) => {
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await context.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data: said } });
    }
    return text('logged');
  });
  server.registerTool('test_tool_with_progress', { description: 'Reports progress.' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100])
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    return text('reported');
  });
}

function asking(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Samples.', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, context) => {
      const { content } = await context.mcpReq.send({
        method: 'sampling/createMessage',
        params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
      });
      return text(`LLM response: ${JSON.stringify(content)}`);
    },
  );
  const elicit = async (
    context: ServerContext,
    message: string,
    properties: Record<string, unknown>,
    required: string[] = [],
  ): Promise<CallToolResult> => {
    const answer: ElicitResult = await context.mcpReq.send({
      method: 'elicitation/create',
      params: { message, requestedSchema: { type: 'object', properties, required } },
    });
    return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`);
  };
  server.registerTool(
    'test_elicitation',
    { description: 'Asks.', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) =>
      elicit(context, message, { username: { type: 'string' }, email: { type: 'string' } }, ['username', 'email']),
  );
  server.registerTool('test_elicitation_sep1034_defaults', { description: 'Asks with defaults.' }, (context) =>
    elicit(context, 'Defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  );
  const titled = ['value1', 'value2', 'value3'].map((value, index) => ({ const: value, title: `Option ${index + 1}` }));
  const options = ['option1', 'option2', 'option3'];
  server.registerTool('test_elicitation_sep1330_enums', { description: 'Asks to choose.' }, (context) =>
    elicit(context, 'Choices', {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    }),
  );
}

function resources(server: McpServer): void {
  server.registerResource('static text', 'test://static-text', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }));
  server.registerResource('static binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: PNG }],
  }));
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}

function prompts(server: McpServer): void {
  const said = (words: string): { role: 'user'; content: { type: 'text'; text: string } } => ({
    role: 'user',
    content: { type: 'text', text: words },
  });
  server.registerPrompt('test_simple_prompt', { description: 'Simple.' }, () => ({
    messages: [said('This is a simple prompt for testing.')],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With arguments.',
      argsSchema: z.object({
        arg1: completable(z.string(), (value) => ['test', 'testing'].filter((word) => word.startsWith(value))),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => ({ messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        said('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With an image.' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
      said('Please analyze the image above.'),
    ],
  }));
}
