import JOSE
import OAuth
import Store
import Synchronization
import _Primitives

/// The keys of clients that keep them at an address of their own (`jwks_uri`), fetched when they are needed.
///
/// A copy of this process: each node fetches for itself. What was fetched is kept for as long as the answer says, within
/// bounds. A key that is not in it has it fetched again, once a minute at most, as anybody can name a key and a client. Where
/// an address does not answer with keys, those of before are taken for a while longer. Of one client one fetch is under way
/// at a time: who comes meanwhile goes by what is there, or waits for it where nothing is.
final class RemoteKeySets: Sendable {
    private struct Kept {
        var keys: JWKSet?
        /// From then on they are fetched again.
        var freshUntil = Timestamp(milliseconds: .min)
        /// From then on they are not taken any more.
        var usableUntil = Timestamp(milliseconds: .min)
        var triedAt = Timestamp(milliseconds: .min)
        var failure: OutgoingCallError?
        var isBeingFetched = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What a look at what is there comes to.
    private enum Look {
        case found(JWKSet)
        case missing(OutgoingCallError)
        case fetch
        case wait
    }

    private let calls: (any OutgoingCalls)?
    private let limits: Limits
    /// By client and address: a client that names another address begins anew.
    private let kept = Mutex<[ExactText: Kept]>([:])

    init(calls: (any OutgoingCalls)?, limits: Limits) {
        self.calls = calls
        self.limits = limits
    }

    /// The keys of a client.
    ///
    /// - Parameter name: The key that is looked for (`kid`); `nil` for any.
    ///
    /// Throws ``OutgoingCallError`` where there are none. Cost: nothing where they are there; else a call.
    func keys(of client: String, at address: String, naming name: String?, now: Timestamp) async throws -> JWKSet {
        let place = ExactText("\(client) \(address)")
        while true {
            switch self.look(place, naming: name, at: now) {
            case .found(let keys): return keys
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

    private func look(_ place: ExactText, naming name: String?, at now: Timestamp) -> Look {
        self.kept.withLock { kept in
            self.makeRoom(for: place, in: &kept)
            var entry = kept[place] ?? Kept()
            defer { kept[place] = entry }
            let usable = now < entry.usableUntil ? entry.keys : nil
            let isNamed = name.map { name in usable?.keys.contains { $0.keyID?.hasSameBytes(as: name) == true } ?? false
            }
            if let usable, now < entry.freshUntil, isNamed != false { return .found(usable) }
            let mayTry = now >= entry.triedAt + self.limits.oauth.keySetPause
            if mayTry, !entry.isBeingFetched {
                (entry.isBeingFetched, entry.triedAt) = (true, now)
                return .fetch
            }
            if let usable { return .found(usable) }
            guard entry.isBeingFetched else {
                return .missing(entry.failure ?? OutgoingCallError("its keys were not there a moment ago"))
            }
            guard entry.waiters.count < self.limits.oauth.keySetWaiters else {
                return .missing(OutgoingCallError("too many requests wait for its keys"))
            }
            return .wait
        }
    }

    /// Forgets the client that was looked at least recently, where there are as many as a server has.
    private func makeRoom(for place: ExactText, in kept: inout [ExactText: Kept]) {
        guard kept[place] == nil, kept.count >= self.limits.oauth.clients else { return }
        let oldest = kept.filter { !$0.value.isBeingFetched }.min { $0.value.triedAt < $1.value.triedAt }
        if let oldest { kept[oldest.key] = nil }
    }

    private func fetch(_ place: ExactText, _ address: String, at now: Timestamp) async {
        let outcome: Result<(JWKSet, Duration?), OutgoingCallError>
        do { outcome = .success(try await self.fetched(address)) } catch {
            outcome = .failure((error as? OutgoingCallError) ?? OutgoingCallError("it is not called any more"))
        }
        let waiters = self.kept.withLock { kept in
            var entry = kept[place] ?? Kept()
            switch outcome {
            case .success(let (keys, age)):
                let limits = self.limits.oauth
                let lifetime = min(max(age ?? limits.usualKeySetAge, limits.keySetPause), limits.longestKeySetAge)
                (entry.keys, entry.failure) = (keys, nil)
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

    private func fetched(_ address: String) async throws -> (JWKSet, Duration?) {
        guard let calls = self.calls else { throw OutgoingCallError("this server calls nobody") }
        let answer = try await calls.send(
            OutgoingCall(to: address, longestAnswer: self.limits.oauth.keySetBytes))
        guard answer.status == 200 else { throw OutgoingCallError("it answers \(answer.status)") }
        // What is of no use here may be of use to others: sets that are fetched are read more leniently than those that
        // somebody registers, who can be told (RFC 7517, section 5).
        guard let set = try? JWKSet(parsing: answer.body) else { throw OutgoingCallError("it answers no key set") }
        // A set without a key is an answer, too: whoever has lost a key takes it away like this.
        return (JWKSet(set.keys.filter { key in JWSAlgorithm.ofClients.contains(where: key.fits) }), answer.mayBeKept)
    }
}
