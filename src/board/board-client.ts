import { type BoardTransaction, runTransaction } from "./board-transaction.ts";
import type { Caller } from "./caller.ts";
import type { BoardDatabase } from "./database/board-database.ts";
import { type AsyncOperation, type Steps, toAsyncOperation } from "./database/steps.ts";
import { describeBoard } from "./operations/boards/describe-board.ts";
import { collectGarbage, repairCounters } from "./operations/boards/maintain-board.ts";
import { pauseBoard } from "./operations/boards/pause-board.ts";
import { renameProfileOnBoard } from "./operations/boards/profile-names.ts";
import { addAttachment, removeAttachment } from "./operations/records/attachments.ts";
import { addComment, recordDiscarded } from "./operations/records/comments.ts";
import { confirmEvents, subscribe, takeEvents, unsubscribe } from "./operations/records/subscriptions.ts";
import { claimTasks } from "./operations/runs/claim.ts";
import { endRun, reclaimExpired, releaseTask } from "./operations/runs/end-run.ts";
import { confirmRunExit } from "./operations/runs/leaving-runs.ts";
import { promoteWaitingTasks } from "./operations/runs/recompute.ts";
import { describeRun, renewRun } from "./operations/runs/renew-run.ts";
import { answerTask } from "./operations/tasks/answer-task.ts";
import { archiveTask, purgeTask, reopenTask } from "./operations/tasks/archive-task.ts";
import { changeTask } from "./operations/tasks/change-task.ts";
import { createPlan } from "./operations/tasks/create-plan.ts";
import { createTask } from "./operations/tasks/create-task.ts";
import { decomposeTask } from "./operations/tasks/decompose-task.ts";
import { assignTask, editTask, holdTask } from "./operations/tasks/edit-task.ts";
import {
  blockTask,
  completeTask,
  reopenReview,
  requestChanges,
  requestReview,
  scheduleTask,
} from "./operations/tasks/end-task.ts";
import { linkTasks, unlinkTasks } from "./operations/tasks/links.ts";
import { retryTask } from "./operations/tasks/retry-task.ts";
import { promoteTask, specifyTask, unblockTask } from "./operations/tasks/unblock-task.ts";

/** The write operations of a board for one caller. Each is one transaction, checks the caller's rights and records events. */
export class BoardClient {
  readonly #database: BoardDatabase;
  readonly #caller: Caller;

  readonly create = this.#write(createTask);
  readonly plan = this.#write(createPlan);
  readonly assign = this.#write(assignTask);
  readonly renameProfile = this.#write(renameProfileOnBoard);
  readonly edit = this.#write(editTask);
  readonly change = this.#write(changeTask);
  readonly link = this.#write(linkTasks);
  readonly unlink = this.#write(unlinkTasks);
  readonly claim = this.#write(claimTasks);
  readonly release = this.#write(releaseTask);
  readonly renew = this.#write(renewRun);
  readonly describeRun = this.#write(describeRun);
  readonly endRun = this.#write(endRun);
  readonly confirmRunExit = this.#write(confirmRunExit);
  readonly reclaimExpired = this.#write(reclaimExpired);
  readonly comment = this.#write(addComment);
  readonly attach = this.#write(addAttachment);
  readonly removeAttachment = this.#write(removeAttachment);
  readonly subscribe = this.#write(subscribe);
  readonly unsubscribe = this.#write(unsubscribe);
  readonly confirmEvents = this.#write(confirmEvents);
  readonly takeEvents = this.#write(takeEvents);
  readonly recordDiscarded = this.#write(recordDiscarded);
  readonly complete = this.#write(completeTask);
  readonly block = this.#write(blockTask);
  readonly unblock = this.#write(unblockTask);
  readonly answer = this.#write(answerTask);
  readonly retry = this.#write(retryTask);
  readonly schedule = this.#write(scheduleTask);
  readonly promote = this.#write(promoteTask);
  readonly hold = this.#write(holdTask);
  readonly specify = this.#write(specifyTask);
  readonly decompose = this.#write(decomposeTask);
  readonly requestReview = this.#write(requestReview);
  readonly requestChanges = this.#write(requestChanges);
  readonly reopenReview = this.#write(reopenReview);
  readonly reopen = this.#write(reopenTask);
  readonly archive = this.#write(archiveTask);
  readonly purge = this.#write(purgeTask);
  readonly pause = this.#write(pauseBoard);
  readonly describeBoard = this.#write(describeBoard);
  readonly recompute = this.#write(promoteWaitingTasks);
  readonly collectGarbage = this.#write(collectGarbage);
  readonly repairCounters = this.#write(repairCounters);

  constructor(database: BoardDatabase, caller: Caller) {
    this.#database = database;
    this.#caller = caller;
  }

  #write<Args extends unknown[], Result>(
    operation: (transaction: BoardTransaction, ...args: Args) => Steps<Result>,
  ): AsyncOperation<Args, Result> {
    return toAsyncOperation((args, signal) =>
      runTransaction(this.#database, this.#caller, (transaction) => operation(transaction, ...args), signal),
    );
  }
}
