// The only file that calls the server.
import { SLICE } from "./dom";
import { Questions, type Answer, type BatchEvents, type Question, type Send } from "./questions";
import { eventsOf } from "./events";
import type { AnyAsked, Example, Frozen, Run } from "./kept";
import { programOf, type Text } from "./text";
import type {
  Backend,
  CheckAnswer,
  Failure,
  Operations,
  Pass,
  PlacesAnswer,
  Problem,
  ShowAnswer,
  Stage,
  StageInfo,
} from "./types";

type Op = keyof Operations;
type Told<O extends Op> = Promise<Answer<Operations[O]["answer"]>>;
export type { Answer };

function failure(message: string, kind = "network", hint = ""): Failure {
  return { ok: false, error: { kind, message, hint, span: null } };
}

const KEPT = "Your text is kept in this browser.";

function unreachable(): Failure {
  return navigator.onLine
    ? failure("The server does not answer.", "network", `Is it still running? ${KEPT}`)
    : failure("This browser is offline.", "network", KEPT);
}

/** An answer, whoever gave it: what stands between here and the server answers in words of its own. */
async function answerOf<T extends object>(response: Response): Promise<Answer<T>> {
  const answer = (await response.json().catch(() => null)) as Answer<T> | null;
  const found =
    answer && typeof answer === "object" && (response.ok || "error" in answer) ? answer : unspoken(response.status);
  const after = retryAfter(response);
  if ("error" in found && after) found.error.retry ??= after;
  return found;
}

function unspoken(status: number): Failure {
  if (status === 429) return failure("Too many requests.", "busy", KEPT);
  if (status >= 502 && status <= 504)
    return failure(`The server cannot be reached now (status ${status}).`, "network", KEPT);
  if (status === 413) return failure("This is longer than the server accepts.", "usage");
  return failure(`The server answered with status ${status} and no readable message.`, "internal");
}

/** The seconds of a header `Retry-After`; 0 without one. */
function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("Retry-After"));
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 0;
}

/** A question without whose answer the page cannot start has failed. */
export class Unanswered extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** Tells this page from others behind the same address, and nobody from anybody else. */
const PAGE = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
  "",
);
const WHO = { "X-Stridescope-Page": PAGE };

/** As many jobs of one page as the server takes, running and waiting; others wait for their turn here. */
const AT_ONCE = 3;
let inFlight = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>, signal: AbortSignal | null = null): Promise<T> {
  if (inFlight === AT_ONCE) await place(signal);
  else inFlight += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else inFlight -= 1;
  }
}

/** A turn to come. Rejects when the signal says so. */
function place(signal: AbortSignal | null): Promise<void> {
  return new Promise((resume, reject) => {
    waiting.push(resume);
    signal?.addEventListener("abort", () => {
      const at = waiting.indexOf(resume);
      if (at >= 0) waiting.splice(at, 1);
      if (at >= 0) reject(signal.reason);
    });
  });
}

/** Raises Unanswered. */
async function get<T extends object>(path: string, headers?: HeadersInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, headers && { headers }); // without any, as the page's links ask for it early
  } catch {
    throw new Unanswered(unreachable().error);
  }
  const answer = await answerOf<T>(response);
  if (!response.ok) throw new Unanswered((answer as Failure).error);
  return answer as T;
}

function send(path: string, body: unknown, accept: string, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: accept, ...WHO },
    body: JSON.stringify(body),
    signal,
  });
}

async function answered<T extends object>(
  op: string,
  body: unknown,
  signal: AbortSignal | null = null,
): Promise<Answer<T>> {
  try {
    return await inTurn(async () => answerOf<T>(await send(`/api/${op}`, body, "application/json", signal)), signal);
  } catch {
    return unreachable();
  }
}

/** Answers that stay the same while the page is open. */
const once = new Map<string, Promise<object>>();

/** Raises Unanswered; then it is asked again. */
function getOnce<T extends object>(path: string): Promise<T> {
  const before = once.get(path) as Promise<T> | undefined;
  if (before) return before;
  const asked = get<T>(path);
  once.set(path, asked);
  asked.catch(() => once.delete(path));
  return asked;
}

/** The stages, and the listings that are made of some. */
export async function manifest(): Promise<StageInfo[]> {
  const { stages, listings } = await getOnce<{ stages: StageInfo[]; listings: StageInfo[] }>("/api/manifest");
  return [...stages, ...listings];
}

export async function switches(): Promise<Pass[]> {
  return (await getOnce<{ switches: Pass[] }>("/api/manifest")).switches;
}

export async function backends(): Promise<Backend[]> {
  return (await get<{ backends: Backend[] }>("/api/backends", WHO)).backends;
}

export async function examples(): Promise<Example[]> {
  return (await getOnce<{ examples: Example[] }>("/api/examples")).examples;
}

/** The file of a lesson. Raises Unanswered. */
export async function lessonText(name: string): Promise<string> {
  const response = await fetch(`/lessons/${name}.md`, { headers: WHO }).catch(() => null);
  if (!response?.ok) throw new Unanswered((response ? unspoken(response.status) : unreachable()).error);
  return response.text();
}

export function frozen(id: string): Promise<Frozen> {
  return get<Frozen>(`/z/${id}.json`);
}

/** An operation by itself. The server stops a run whose request is aborted. */
export function post<O extends Op>(
  op: O,
  request: Operations[O]["request"],
  signal: AbortSignal | null = null,
): Told<O> {
  return answered(op, request, signal);
}

/** A run. While it waits for its turn its place is told, 0 when it begins. */
export async function run<O extends "run" | "validity">(
  op: O,
  request: Operations[O]["request"],
  signal: AbortSignal,
  queued: (position: number) => void,
): Told<O> {
  try {
    return await inTurn(() => followed<Operations[O]["answer"]>(`/api/${op}`, request, signal, queued), signal);
  } catch {
    return unreachable();
  }
}

async function followed<T extends object>(
  path: string,
  request: unknown,
  signal: AbortSignal,
  queued: (position: number) => void,
): Promise<Answer<T>> {
  const response = await send(path, request, "text/event-stream", signal);
  if (!streams(response)) return answerOf<T>(response);
  for await (const [event, data] of eventsOf(response.body)) {
    const told = JSON.parse(data) as Answer<T> & { queued: number };
    if (event !== "queued") return told;
    queued(told.queued);
  }
  return failure("The server's answer ended early.", "network", KEPT);
}

/** True if a response comes as events. */
const streams = (response: Response): response is Response & { body: ReadableStream<Uint8Array<ArrayBuffer>> } =>
  response.body !== null && !!response.headers.get("Content-Type")?.startsWith("text/event-stream");

/** A question, which goes with others in one request: about a program, or whichever was the last one. */
export function ask<O extends Op>(op: O, fields: Omit<Operations[O]["request"], keyof Text>, text?: Text): Told<O> {
  return questions.ask({ op, ...structuredClone(fields) }, text);
}

/** A part of a kept result, in Futhark's binary format. Throws, in words, what the server says. */
export async function resultPart(
  kept: string,
  number: number,
  cuts?: readonly (readonly number[])[],
): Promise<ArrayBuffer> {
  const part = cuts ? `?part=${cuts.map((cut) => cut.join(":")).join()}` : "";
  const response = await fetch(`/api/results/${kept}/${number}${part}`, { headers: WHO }).catch(() => null);
  if (response?.ok) return response.arrayBuffer();
  const { error } = response ? ((await answerOf(response)) as Failure) : unreachable();
  throw new Error(`${error.message} ${error.hint}`.trim());
}

/** An answer about a file that is sent, or why there is none; `status` 0: nobody has answered. */
type Sent<T> = (T & { ok: true }) | { ok: false; error: Problem & { status: number; have?: number; retry?: number } };

async function file<T extends object>(
  path: string,
  method: string,
  body: BodyInit | null,
  type: string,
): Promise<Sent<T>> {
  let response: Response;
  try {
    response = await fetch(`/api/uploads${path}`, { method, body, headers: { "Content-Type": type, ...WHO } });
  } catch {
    return { ok: false, error: { ...unreachable().error, status: 0 } };
  }
  const answer = await answerOf<T>(response);
  return response.ok
    ? { ...(answer as T), ok: true }
    : { ok: false, error: { ...(answer as Failure).error, status: response.status } };
}

/** Begin a file of so many bytes. */
export const beginUpload = (size: number): Promise<Sent<{ id: string; piece: number }>> =>
  file("", "POST", JSON.stringify({ size }), "application/json");

/** Add a piece of it where it ends. */
export const sendPiece = (id: string, offset: number, piece: Blob): Promise<Sent<{ have: number }>> =>
  file(`/${id}?offset=${offset}`, "PUT", piece, "application/octet-stream");

export const dropUpload = (id: string): Promise<Sent<object>> => file(`/${id}`, "DELETE", null, "application/json");

export function share(
  text: Text,
  run: Run | null,
  asked: Pick<AnyAsked, "op" | "request">[],
  view: unknown,
): Promise<Answer<{ ok: true; id: string; url: string; key: string }>> {
  return answered("share", { ...text, run, asked, view });
}

/** Delete a link by its key: `gone` unless others have shared the same. */
export function forget({ id, key }: { id: string; key: string }): Promise<Answer<{ ok: true; gone: boolean }>> {
  return answered("forget", { id, key });
}

/** A lecture's own data, which only its teacher's page has. */
export interface Lecture {
  id: string;
  code: string;
  secret: string;
  url: string;
}

/** These wait for no turn: who asks what is newer is answered when something is. */
async function apart<T extends object>(work: () => Promise<Response>): Promise<Answer<T>> {
  try {
    return await answerOf<T>(await work());
  } catch {
    return unreachable();
  }
}

export const beginLecture = (): Promise<Answer<Lecture & { ok: true }>> =>
  apart(() => send("/api/lecture", {}, "application/json"));

/** Show a view, take the lecture for this page, or end it; with none of these tell that the page is there. */
export const publish = (
  { id, secret }: Lecture,
  what: { view?: unknown; take?: boolean; end?: boolean },
): Promise<Answer<{ ok: true; number: number }>> =>
  apart(() => send(`/api/lecture/${id}`, { secret, page: PAGE, ...what }, "application/json"));

/** Ask for a lecture's `view` if it is newer than `after`, else for the seconds of its teacher's silence. */
export const newer = <V>(
  id: string,
  after: number,
): Promise<Answer<{ ok: true; number: number; ended: boolean; view?: V | null; silent?: number }>> =>
  apart(() => fetch(`/api/lecture/${id}?after=${after}`, { headers: WHO }));

/** Batches that are not answered yet. */
let batches = 0;

/** True if all that was asked about programs has been answered. */
export const isAnswered = (): boolean => batches === 0;

export interface CompileEvents {
  queued(position: number): void;
  checked(answer: Answer<CheckAnswer>): void;
  part(stages: Record<string, Stage>): void;
  places(answer: Answer<PlacesAnswer>): void;
}

/**
 * Check and compile, in one request with what panes will ask. Stages are reported as they come, those of `texts` with
 * their lines; the answer, which may come before the panes' answers, has the remarks and what was left.
 */
export function compile(
  text: Text,
  texts: readonly string[],
  events: CompileEvents,
  signal: AbortSignal,
): Promise<Answer<ShowAnswer>> {
  return new Promise((resolve) => {
    const first = [
      { question: { op: "check" }, resolve: (answer: Answer<object>) => events.checked(answer as Answer<CheckAnswer>) },
      {
        question: { op: "show", texts },
        partial: (answer: object) => events.part((answer as ShowAnswer).stages),
        resolve: (answer: Answer<object>) => resolve(answer as Answer<ShowAnswer>),
      },
      {
        question: { op: "places" },
        resolve: (answer: Answer<object>) => events.places(answer as Answer<PlacesAnswer>),
      },
    ];
    void questions.begin(text, first, (position) => events.queued(position), signal);
  });
}

/** All stages with their texts, one by one; null, or why they did not come. */
export function texts(text: Text, part: (stages: Record<string, Stage>) => void): Promise<Failure | null> {
  return sendBatch(
    text,
    [{ op: "show" }],
    {
      queued: () => undefined,
      answer: (_, answer) => "stages" in answer && part((answer as ShowAnswer).stages),
    },
    null,
  );
}

let troubled: (problem: Problem) => void = () => undefined;

/** Set the listener for questions that fail for a passing reason. */
export function onTrouble(listener: (problem: Problem) => void): void {
  troubled = listener;
}

/** Answers about a program that came with the page. */
export interface Known {
  text: Text;
  answers: { request: Question; answer: Answer<object> }[];
}

let known: Known | null = null;

/** From here on questions that these are answers to are asked nobody. */
export function know(given: Known): void {
  known = given;
}

/** A question's fields, in an order that does not depend on who wrote them. */
const fieldsOf = (fields: object): string =>
  JSON.stringify(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)));

/** The answers to these, if all came with the page: that to `show` may have more stages' lines than are wanted. */
function knownTo(text: Text, requests: readonly Question[]): Answer<object>[] | null {
  if (!known || programOf(known.text) !== programOf(text)) return null;
  const { answers } = known;
  const found = requests.flatMap(({ texts = [], ...own }) =>
    answers
      .filter(
        ({ request: { texts: has = [], ...one } }) =>
          fieldsOf(one) === fieldsOf(own) && (texts as string[]).every((id) => (has as string[]).includes(id)),
      )
      .slice(0, 1),
  );
  return found.length === requests.length ? found.map(({ answer }) => answer) : null;
}

const sendBatch: Send = async (text, requests, events, signal) => {
  const found = knownTo(text, requests);
  if (found) {
    for (const [number, answer] of found.entries()) events.answer(number, answer);
    return null;
  }
  batches += 1;
  return inTurn(() => batch(text, requests, events, signal), signal)
    .catch(() => unreachable())
    .finally(() => (batches -= 1));
};

const questions = new Questions(sendBatch, (problem) => troubled(problem));

/** Null, or why a batch did not come to its end. */
async function batch(
  text: Text,
  requests: Question[],
  events: BatchEvents,
  signal: AbortSignal | null,
): Promise<Failure | null> {
  const response = await send("/api/batch", { ...text, requests }, "text/event-stream", signal);
  if (!streams(response)) {
    const answer = await answerOf(response);
    return "error" in answer ? answer : failure("The page cannot read the server's answer.", "internal");
  }
  let until = performance.now() + SLICE;
  for await (const [event, data] of eventsOf(response.body)) {
    if (performance.now() > until) {
      await new Promise((resume) => setTimeout(resume)); // what one types comes between two answers
      until = performance.now() + SLICE;
    }
    const told = JSON.parse(data) as { queued: number; request: number; answer: Answer<object> } & (
      | Failure
      | { ok: true }
    );
    if (event === "queued") events.queued(told.queued);
    else if (event === "part") events.answer(told.request, told.answer);
    else return told.ok ? null : told;
  }
  return failure("The server's answer ended early.", "network", KEPT);
}
