import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { hashOf } from '../../common/hash.ts';
import type { Json } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import type { ToolOutcome } from '../../rollout/ports.ts';
import type { Part } from '../../trace/schema.ts';
import { jsonResponse, textResponse } from '../outcome.ts';

/**
 * Converts the result of an MCP tool. Text becomes the response; images, audio, files, and links become parts. If the
 * text only repeats the structured content, as the protocol recommends, the structured content is the response.
 */
export function outcomeOf(result: CallToolResult): ToolOutcome {
  const texts: string[] = [];
  const parts: Part[] = [];
  for (const block of result.content) addBlock(block, texts, parts);
  const text = texts.join('\n');
  const structured = result.structuredContent as Json | undefined; // parsed JSON
  const response = responseOf(texts.length === 0 ? undefined : text, structured);
  return parts.length === 0 ? response : { ...response, parts };
}

/** Returns the text of a result, for errors. */
export function textOf(result: CallToolResult): string {
  const texts: string[] = [];
  for (const block of result.content) addBlock(block, texts, []);
  return texts.join('\n');
}

function addBlock(block: ContentBlock, texts: string[], parts: Part[]): void {
  switch (block.type) {
    case 'text':
      texts.push(block.text);
      return;
    case 'image':
    case 'audio':
      parts.push({ type: 'blob', mime_type: block.mimeType, modality: block.type, content: block.data });
      return;
    case 'resource_link':
      texts.push(`${block.title ?? block.name}: ${block.uri}`);
      parts.push({
        type: 'uri',
        uri: block.uri,
        ...(block.mimeType === undefined ? {} : { mime_type: block.mimeType }),
      });
      return;
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) {
        texts.push(`${resource.uri}:\n${resource.text}`);
        return;
      }
      const mime = resource.mimeType ?? 'application/octet-stream';
      const modality = /^(image|audio|video)\//.exec(mime)?.[1];
      texts.push(resource.uri);
      parts.push({
        type: 'blob',
        mime_type: mime,
        content: resource.blob,
        ...(modality === undefined ? {} : { modality }),
      });
    }
  }
}

function responseOf(text: string | undefined, structured: Json | undefined): ReturnType<typeof textResponse> {
  if (structured === undefined) return textResponse({ text: text ?? '' });
  if (text === undefined || repeats(text, structured)) return jsonResponse({ text: JSON.stringify(structured) });
  // The structured content may also just wrap the text.
  if (isJsonObject(structured) && Object.keys(structured).length === 1 && Object.values(structured)[0] === text)
    return textResponse({ text });
  return jsonResponse({ text: JSON.stringify({ text, structured }) });
}

function repeats(text: string, structured: Json): boolean {
  try {
    return hashOf(JSON.parse(text)) === hashOf(structured);
  } catch {
    return false;
  }
}
