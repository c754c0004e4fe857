import OAuth
import Store
import Synchronization
import _Primitives

/// Documents that others keep at addresses of their own, fetched when they are needed.
///
/// A copy of this process: each node fetches for itself. What was fetched is kept for as long as the answer says,
/// within bounds. One that is not enough has it fetched again, every ``OAuthLimits/keySetPause`` at most, as anybody
/// can ask for what is not in it. Where an address does not answer with such a document, the one of before is taken for
/// a while longer. Of one holder one fetch is under way at a time: who comes meanwhile goes by what is there, or waits
/// for it where nothing is.
final class RemoteDocuments<Document: Sendable>: Sendable {
    private struct Kept {
        var document: Document?
        /// From then on it is fetched again.
        var freshUntil = Timestamp(milliseconds: .min)
        /// From then on it is not taken any more.
        var usableUntil = Timestamp(milliseconds: .min)
        var triedAt = Timestamp(milliseconds: .min)
        var failure: OutgoingCallError?
        var isBeingFetched = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What a look at what is there comes to.
    private enum Look {
        case found(Document)
        case missing(OutgoingCallError)
        case fetch
        case wait
    }

    private let calls: (any OutgoingCalls)?
    /// Whose addresses they are.
    private let party: OutgoingCall.Party
    private let limits: Limits
    /// Reads an answer. Throws ``OutgoingCallError`` with what it lacks.
    private let read: @Sendable ([UInt8]) throws(OutgoingCallError) -> Document
    /// By holder and address: a holder that names another address begins anew.
    private let kept = Mutex<[ExactText: Kept]>([:])

    init(
        calls: (any OutgoingCalls)?, of party: OutgoingCall.Party, limits: Limits,
        read: @escaping @Sendable ([UInt8]) throws(OutgoingCallError) -> Document
    ) {
        self.calls = calls
        self.party = party
        self.limits = limits
        self.read = read
    }

    /// The document of a holder.
    ///
    /// - Parameters:
    ///   - isStaleEnough: Whether one that is kept is taken as long as it is where the address does not answer, without a
    ///     look whether it does.
    ///   - isEnough: Whether one that is kept is what is looked for.
    ///
    /// Throws ``OutgoingCallError`` where there is none. Cost: nothing where it is there; else a call.
    func document(
        of holder: String, at address: String, now: Timestamp, isStaleEnough: Bool = false,
        isEnough: (Document) -> Bool = { _ in true }
    ) async throws -> Document {
        let place = ExactText("\(holder) \(address)")
        while true {
            switch self.look(place, at: now, isStaleEnough, isEnough) {
            case .found(let document): return document
            case .missing(let error): throw error
            case .fetch: await self.fetch(place, address, at: now)
            case .wait:
                await withCheckedContinuation { continuation in
                    let isOver = self.kept.withLock { kept in
                        guard kept[place]?.isBeingFetched == true else { return true }
                        kept[place]?.waiters.append(continuation)
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            }
        }
    }

    /// How many can wait for one that is fetched: of a client's requests, or of the people who sign in by a provider.
    private var mostWaiters: Int {
        switch self.party {
        case .client: self.limits.oauth.keySetWaiters
        case .provider: self.limits.oauth.waitingArrivals
        }
    }

    private func look(
        _ place: ExactText, at now: Timestamp, _ isStaleEnough: Bool, _ isEnough: (Document) -> Bool
    ) -> Look {
        self.kept.withLock { kept in
            self.makeRoom(for: place, in: &kept)
            var entry = kept[place] ?? Kept()
            defer { kept[place] = entry }
            let usable = now < entry.usableUntil ? entry.document : nil
            if let usable, isStaleEnough || now < entry.freshUntil, isEnough(usable) { return .found(usable) }
            let mayTry = now >= entry.triedAt + self.limits.oauth.keySetPause
            if mayTry, !entry.isBeingFetched {
                (entry.isBeingFetched, entry.triedAt) = (true, now)
                return .fetch
            }
            if let usable { return .found(usable) }
            guard entry.isBeingFetched else {
                return .missing(entry.failure ?? OutgoingCallError("nothing was there a moment ago"))
            }
            guard entry.waiters.count < self.mostWaiters else {
                return .missing(OutgoingCallError("too many requests wait for it"))
            }
            return .wait
        }
    }

    /// Forgets the holder that was looked at least recently, where there are as many as a server has clients.
    private func makeRoom(for place: ExactText, in kept: inout [ExactText: Kept]) {
        guard kept[place] == nil, kept.count >= self.limits.oauth.clients else { return }
        let oldest = kept.filter { !$0.value.isBeingFetched }.min { $0.value.triedAt < $1.value.triedAt }
        if let oldest { kept[oldest.key] = nil }
    }

    private func fetch(_ place: ExactText, _ address: String, at now: Timestamp) async {
        let outcome: Result<(Document, Duration?), OutgoingCallError>
        do { outcome = .success(try await self.fetched(address)) } catch {
            outcome = .failure((error as? OutgoingCallError) ?? OutgoingCallError("it is not called any more"))
        }
        let waiters = self.kept.withLock { kept in
            var entry = kept[place] ?? Kept()
            switch outcome {
            case .success(let (document, age)):
                let limits = self.limits.oauth
                let lifetime = min(max(age ?? limits.usualKeySetAge, limits.keySetPause), limits.longestKeySetAge)
                (entry.document, entry.failure) = (document, nil)
                entry.freshUntil = now + lifetime
                entry.usableUntil = entry.freshUntil + limits.keySetGrace
            case .failure(let error): entry.failure = error
            }
            defer { kept[place] = entry }
            entry.isBeingFetched = false
            defer { entry.waiters = [] }
            return entry.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func fetched(_ address: String) async throws -> (Document, Duration?) {
        guard let calls = self.calls else { throw OutgoingCallError("this server calls nobody") }
        let answer = try await calls.send(
            OutgoingCall(to: address, longestAnswer: self.limits.oauth.keySetBytes, party: self.party))
        guard answer.status == 200 else { throw OutgoingCallError("it answers \(answer.status)") }
        return (try self.read(answer.body), answer.mayBeKept)
    }
}
