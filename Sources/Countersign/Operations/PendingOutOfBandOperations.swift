import UAFClient
import _Primitives

/// An operation that fetches everything that waits for this device, of all accounts and servers: operations that
/// services have dispatched to the device, and questions that services ask without a browser.
///
/// The device authenticates the requests itself, and the person is asked nothing. A server that does not answer costs
/// only the operations of its own accounts: the result names the reason beside the other operations. Configure the
/// operation and execute it once, at the start of the app or when the person asks for it.
///
/// ```swift
/// let pending = try await client.operations.pendingOutOfBandOperations.execute()
/// if let operation = pending.operations.first {
///     let answer = try await client.operations.outOfBandOperation.payload(operation.payload).execute()
///     // … as with a scanned code.
/// }
/// ```
public struct PendingOutOfBandOperations: SingleOperation, ServerOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Fetches the lists of all accounts at the same time. Throws `operationReused`, `invalidRequestHeader`, and the
    /// FIDO error `userCanceled`; every other failure is in the result.
    public func perform() async throws(OperationError) -> PendingOutOfBandOperationsResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        let records = await core.records(named: self.username)
        let list = PendingList(of: records.map(\.account)) { _ in }
        await withTaskGroup(of: Void.self) { group in
            for record in records {
                group.addTask {
                    do {
                        let exchange = try DeviceExchange(core: core, record: record)
                        list.set(try await exchange.pending().operations, of: record.account)
                    } catch {
                        list.set(OperationError(translating: error), of: record.account)
                    }
                }
            }
        }
        if Task.isCancelled { throw OperationError(translating: CancellationError()) }
        return list.result
    }
}

/// An operation that tells the app each change of the operations that wait for this device, as the changes come.
///
/// Each account has a stream at its server. Where a server or the transport does not stream, the operation asks again
/// every 15 seconds. If another process of this device takes the stream's place, the operation opens no stream for 60
/// seconds. The operation lasts until its task or its handle is cancelled, and ends by itself when no account is left to
/// watch.
///
/// An account that its server refuses (`notAuthorized`, `accountLocked`) is watched no more, and its operations are no
/// longer in the result. Execute a new watch after a registration, and after an authentication of such an account.
///
/// ```swift
/// let watch = client.operations.pendingOutOfBandOperationsWatch
///     .onChange { pending in show(pending.operations) }
///     .onError { error in }
///     .execute()
/// // later
/// watch.cancel()
/// ```
public struct PendingOutOfBandOperationsWatch: SingleOperation, ServerOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var change: (@Sendable (PendingOutOfBandOperationsResult) -> Void)?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Watches all accounts. Throws `operationReused`, `invalidRequestHeader`, `missingInteraction` without a callback
    /// for changes, and the FIDO error `userCanceled` after a cancellation.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let change = self.change else { throw OperationError(.missingInteraction, "no callback for changes") }
        let core = try self.requestOptions.configure(self.core)
        let records = await core.records(named: self.username)
        let list = PendingList(of: records.map(\.account), change)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for record in records {
                    group.addTask { try await AccountWatch(core: core, record: record, list: list).run() }
                }
                try await group.waitForAll()
            }
        } catch {
            throw OperationError(translating: error)
        }
    }
}

extension OperationBuilder where Operation == PendingOutOfBandOperations {
    /// Sets the account whose operations are fetched. The default is all accounts of the device.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
}

extension OperationBuilder where Operation == PendingOutOfBandOperationsWatch {
    /// Sets the account whose operations are watched. The default is all accounts of the device.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the callback for changes. Required. The calls come one after another: the first when all accounts have
    /// answered or failed, and then a call for each change.
    public func onChange(_ body: @escaping @Sendable (PendingOutOfBandOperationsResult) -> Void) -> Self {
        self.changing { $0.change = body }
    }
}

/// The watching of one account.
private struct AccountWatch: Sendable {
    /// The pause between two requests where nothing streams.
    static let pollingPause = Duration.seconds(15)
    /// The pause after another stream has taken the place.
    static let replacedPause = Duration.seconds(60)
    static let shortestPause = Duration.seconds(2)
    static let longestPause = Duration.seconds(60)

    let core: ClientCore
    let record: StoredAccount
    let list: PendingList

    /// Watches until the server accepts this device no more. Throws `CancellationError`.
    func run() async throws {
        var (pause, streams) = (Self.shortestPause, true)
        while true {
            var wait = Self.shortestPause
            do {
                let exchange = try DeviceExchange(core: self.core, record: self.record)
                let (operations, clockOffset) = try await exchange.pending()
                self.list.set(operations, of: self.record.account)
                let end = try await self.stream(exchange, clockOffset, streams)
                switch end {
                case .ended: throw OperationError(.notAuthorized, "the server has ended this device's stream")
                // The list was read. If the server refuses the device itself, the next reading says so.
                case .refused: (wait, pause) = (pause, Self.longer(pause))
                case .noStream: (wait, pause, streams) = (Self.pollingPause, Self.shortestPause, false)
                case .replaced: (wait, pause) = (Self.replacedPause, Self.shortestPause)
                case .interrupted(let retry):
                    let wanted = max(retry ?? Self.shortestPause, Self.shortestPause)
                    (wait, pause) = (min(wanted, Self.longestPause), Self.shortestPause)
                }
            } catch {
                try Task.checkCancellation()
                let error = OperationError(translating: error)
                self.list.set(error, of: self.record.account, isOver: error.endsWatch)
                guard !error.endsWatch else { return }
                (wait, pause) = (pause, Self.longer(pause))
            }
            try await self.core.platform.clock.sleep(for: wait)
        }
    }

    /// Watches by a stream until its end; `noStream` at once if `streams` is `false`.
    private func stream(
        _ exchange: DeviceExchange, _ clockOffset: Duration, _ streams: Bool
    ) async throws -> DeviceExchange.StreamEnd {
        guard streams else { return .noStream }
        let (list, account) = (self.list, self.record.account)
        return try await exchange.stream(clockOffset: clockOffset) { list.set($0, of: account) }
    }

    /// Returns the pause after a further failure.
    private static func longer(_ pause: Duration) -> Duration { min(pause * 2, Self.longestPause) }
}

extension OperationError {
    /// `true` if a later request of the device gets the same answer, until the app or the operator has done something.
    fileprivate var endsWatch: Bool { [.notAuthorized, .accountLocked, .appRenamed].contains(self.code) }
}
