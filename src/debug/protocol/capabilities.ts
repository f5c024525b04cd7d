/** The capabilities of the debug adapter. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { EXCEPTION_FILTERS } from '../breakpoints/exceptions.ts';

export const CAPABILITIES: DebugProtocol.Capabilities = {
  supportsConfigurationDoneRequest: true,
  supportsFunctionBreakpoints: true,
  supportsConditionalBreakpoints: true,
  supportsHitConditionalBreakpoints: true,
  supportsLogPoints: true,
  supportsDataBreakpoints: true,
  supportsExceptionFilterOptions: true,
  exceptionBreakpointFilters: EXCEPTION_FILTERS,
  supportsExceptionInfoRequest: true,
  supportsStepBack: true,
  supportsStepInTargetsRequest: true,
  supportsGotoTargetsRequest: true,
  supportsRestartFrame: true,
  supportsSetVariable: true,
  supportsEvaluateForHovers: true,
  supportsCompletionsRequest: true,
  completionTriggerCharacters: ['.', '['],
  supportsClipboardContext: true,
  supportsTerminateRequest: true,
  supportTerminateDebuggee: true,
  supportsDelayedStackTraceLoading: true,
  supportsCancelRequest: true,
  supportsLoadedSourcesRequest: true,
  supportsBreakpointLocationsRequest: true,
  supportsSingleThreadExecutionRequests: true,
};
