import OAuth
import Records
import Synchronization
import _Primitives

/// The rules by which documents of a kind are fetched and kept.
struct RemoteDocumentRules {
    /// The party that keeps the documents.
    let party: OutgoingCall.Party
    /// Bytes of a document, at most.
    let bytes: Int
    /// The shortest time between two calls of an address.
    let pause: Duration
    /// The age at which a document is fetched again if its answer names no age.
    let usualAge: Duration
    /// The longest age, whatever age the answer names.
    let longestAge: Duration
    /// The time past its age for which a document still counts if its address does not answer.
    let grace: Duration
    /// The number of requests that can wait while one document is fetched.
    let waiters: Int
    /// The number of documents that are kept.
    let places: Int
}

/// Documents that others keep at addresses of their own, fetched when they are needed.
///
/// The copies belong to this process: each node fetches for itself. A document is kept for as long as its answer says,
/// within bounds. If a kept document is not enough, the document is fetched again, at most once every
/// ``RemoteDocumentRules/pause``, as anybody can ask for content that a document does not have. If an address does not
/// answer with such a document, the previous document counts for a while longer. Each holder has one fetch at a time.
/// Meanwhile other requests use the kept document, or wait for the fetch if no document is kept.
final class RemoteDocuments<Document: Sendable>: Sendable {
    private struct Kept {
        var document: Document?
        /// The time from which the document is fetched again.
        var freshUntil = Timestamp(milliseconds: .min)
        /// The time from which the document no longer counts.
        var usableUntil = Timestamp(milliseconds: .min)
        var triedAt = Timestamp(milliseconds: .min)
        var failure: OutgoingCallError?
        var isBeingFetched = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The result of a look at the kept documents.
    private enum Look {
        case found(Document)
        case missing(OutgoingCallError)
        case fetch
        case wait
    }

    private let calls: (any OutgoingCalls)?
    private let rules: RemoteDocumentRules
    /// Reads the answer of an address. Throws ``OutgoingCallError`` with the reason if the answer is no such document.
    private let read: @Sendable (OutgoingAnswer, _ address: String) throws(OutgoingCallError) -> Document
    /// The kept documents, by holder and address: a holder that names another address begins anew.
    private let kept = Mutex<[ExactText: Kept]>([:])

    init(
        calls: (any OutgoingCalls)?, by rules: RemoteDocumentRules,
        read: @escaping @Sendable (OutgoingAnswer, _ address: String) throws(OutgoingCallError) -> Document
    ) {
        self.calls = calls
        self.rules = rules
        self.read = read
    }

    /// Returns the document of a holder. The document can lack the wanted content, if the last call to the address was
    /// just now or failed.
    ///
    /// - Parameters:
    ///   - isStaleEnough: `true` if a kept document counts, without a new call, for as long as a document counts whose
    ///     address does not answer.
    ///   - isEnough: Returns `true` if a kept document has the wanted content.
    ///   - admit: Is called before the call to the address. An error of `admit` prevents the call, and is thrown on if
    ///     no kept document can be used.
    ///
    /// Throws ``OutgoingCallError`` if no document can be had. Cost: nothing if the document is kept; else a call.
    func document(
        of holder: String, at address: String, now: Timestamp, isStaleEnough: Bool = false,
        isEnough: (Document) -> Bool = { _ in true }, admit: () throws -> Void = {}
    ) async throws -> Document {
        let place = ExactText("\(holder) \(address)")
        while true {
            switch try self.look(place, at: now, isStaleEnough, isEnough, admit) {
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

    private func look(
        _ place: ExactText, at now: Timestamp, _ isStaleEnough: Bool, _ isEnough: (Document) -> Bool,
        _ admit: () throws -> Void
    ) throws -> Look {
        try self.kept.withLock { kept in
            let entry = kept[place] ?? Kept()
            let usable = now < entry.usableUntil ? entry.document : nil
            if let usable, isStaleEnough || now < entry.freshUntil, isEnough(usable) { return .found(usable) }
            if now >= entry.triedAt + self.rules.pause, !entry.isBeingFetched {
                // A budget that has run out takes nothing away: the kept document counts as if the address did not answer.
                do { try admit() } catch {
                    guard let usable else { throw error }
                    return .found(usable)
                }
                self.makeRoom(for: place, in: &kept)
                kept[place, default: Kept()].isBeingFetched = true
                kept[place]?.triedAt = now
                return .fetch
            }
            if let usable { return .found(usable) }
            guard entry.isBeingFetched else {
                return .missing(entry.failure ?? OutgoingCallError("nothing was there a moment ago"))
            }
            guard entry.waiters.count < self.rules.waiters else {
                return .missing(OutgoingCallError("too many requests wait for it"))
            }
            return .wait
        }
    }

    /// Makes room for a new holder if all places are taken: forgets the holder whose last fetch is the oldest.
    private func makeRoom(for place: ExactText, in kept: inout [ExactText: Kept]) {
        guard kept[place] == nil, kept.count >= self.rules.places else { return }
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
                let rules = self.rules
                let lifetime = min(max(age ?? rules.usualAge, rules.pause), rules.longestAge)
                (entry.document, entry.failure) = (document, nil)
                entry.freshUntil = now + lifetime
                entry.usableUntil = entry.freshUntil + rules.grace
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
            OutgoingCall(to: address, longestAnswer: self.rules.bytes, party: self.rules.party))
        guard answer.status == 200 else { throw OutgoingCallError("it answers \(answer.status)") }
        return (try self.read(answer, address), answer.mayBeKept)
    }
}
