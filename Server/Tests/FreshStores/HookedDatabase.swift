package import Records
package import SQLStore
package import Sealing
import Synchronization

/// A step that tests precede, follow or fail, by the name that the step has in the store.
package enum NamedStep: String, Sendable {
    /// `AuthorizationStore.complete`: a sign-in ends with a session and a code.
    case completion = "request.complete"
    /// `AuthorizationStore.moveRequest`: a request without a browser gets its next secret.
    case requestMove = "request.move"
    /// `AuthorizationStore.sweepAuthorizations`: a batch of ended rows goes.
    case authorizationSweep = "authorization.sweep"
    /// `CeremonyStore.createCeremony`.
    case ceremonyCreation = "ceremony.create"
    /// `PushCountStore.countPush`.
    case pushCount = "push.count"
    /// `MailStore.takeDroppedMails`: the numbers of letters that were not kept.
    case droppedMails = "mail.take-dropped"
    /// `AuditStore.appendAudit`: an event by itself.
    case auditEvent = "audit.append"
    /// `PasswordStore.reserveAttempt`.
    case attemptReservation = "attempt.reserve"
    /// `PasswordStore.advance`: a sign-in by password goes on.
    case passwordAdvance = "password-sign-in.advance"
    /// `PasswordStore.knowBrowser`: a mailed link makes an account know a browser.
    case knownBrowser = "known-browser.add"
    /// `MailStore.keepAsk`: somebody has asked for a letter.
    case keptAsk = "mail.keep-ask"
    /// `AdditionalEmailStore.addEmail`.
    case addedEmail = "account-email.add"
    /// `PersonalInformationStore.changePersonalValue`.
    case changedValue = "personal-value.change"
}

/// A database that counts its steps and reads, and calls a test's hooks before or after steps.
package final class HookedDatabase: SQLDatabase {
    /// The moment of a hook.
    package enum Moment: Sendable {
        /// Before the step begins, and before a reader looks for the step.
        case before
        /// When the step is durable, before its caller learns of that.
        case after
    }

    /// The steps and reads that a database was asked for.
    package struct Work: Sendable, Equatable {
        /// The number of reads.
        package var reads: Int
        /// The names of the steps, in their order.
        package var steps: [String]

        /// Makes the work of its reads and steps.
        package init(reads: Int = 0, steps: [String] = []) {
            self.reads = reads
            self.steps = steps
        }
    }

    private struct Hook: Sendable {
        let step: NamedStep
        let moment: Moment
        let body: @Sendable () async throws -> Void
    }

    private struct State: Sendable {
        var work = Work()
        var hooks: [Hook] = []
    }

    private let database: any SQLDatabase
    private let state = Mutex(State())

    /// Makes the database over another.
    package init(_ database: any SQLDatabase) { self.database = database }

    package var sealing: Sealing { self.database.sealing }
    package var knownClients: KnownClients { self.database.knownClients }
    package var waiting: (steps: Int, reads: Int) { self.database.waiting }

    // MARK: For tests

    /// Calls `body` once, at the next step of a name. An error of `body` is the error of the step.
    package func atNext(
        _ step: NamedStep, _ moment: Moment = .before, do body: @escaping @Sendable () async throws -> Void
    ) {
        self.state.withLock { $0.hooks.append(Hook(step: step, moment: moment, body: body)) }
    }

    /// Throws an error in place of the next step of a name, or after the step is done.
    package func failNext(_ step: NamedStep, _ moment: Moment = .before, with error: StoreError) {
        self.atNext(step, moment) { throw error }
    }

    /// The work since the database was opened.
    package var work: Work { self.state.withLock { $0.work } }

    /// Returns the work that was asked for while `body` ran.
    package func work(during body: () async throws -> Void) async throws -> Work {
        let before = self.work
        try await body()
        let after = self.work
        return Work(reads: after.reads - before.reads, steps: Array(after.steps.dropFirst(before.steps.count)))
    }

    // MARK: The database

    package func step<Result: Sendable>(
        _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        try await self.hooked(step) { try await self.database.step(step, body) }
    }

    package func step<Found: Sendable, Result: Sendable>(
        _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
    ) async throws -> Result {
        try await self.hooked(step) { try await self.database.step(step, screenedBy: screen, body) }
    }

    package func read<Result: Sendable>(
        _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        self.state.withLock { $0.work.reads += 1 }
        return try await self.database.read(body)
    }

    package func close() async { await self.database.close() }

    /// Counts a step, and does the step between its hooks.
    private func hooked<Result: Sendable>(_ step: Step, _ run: () async throws -> Result) async throws -> Result {
        let name = step.name.description
        self.state.withLock { $0.work.steps.append(name) }
        try await self.takeHook(name, .before)?.body()
        let result = try await run()
        try await self.takeHook(name, .after)?.body()
        return result
    }

    /// Removes and returns the first hook of a step.
    private func takeHook(_ name: String, _ moment: Moment) -> Hook? {
        self.state.withLock { state in
            state.hooks.firstIndex { $0.step.rawValue == name && $0.moment == moment }
                .map { state.hooks.remove(at: $0) }
        }
    }
}
