import Ceremony
import Foundation
import _Primitives

/// The requests of one step of a process whose answers were lost, each with its subject. A request that is sent again
/// byte for byte is answered as before or, if it never arrived, carried out now: once in either case.
// Safe to share: every access to `kept`, `count` and `left` is within `lock`.
final class UnansweredRequests<Subject: Sendable>: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    private struct Entry {
        let number: Int
        let request: ManagerExchange.Proved
        let subject: Subject
    }

    /// The maximum number of kept requests: the latest of requests with different subjects.
    private static var limit: Int { 2 }

    private let lock = NSLock()
    private var kept: [Entry] = []
    private var count = 0
    private var left = 0

    /// Returns the function that notes a request about `subject` before it is sent, and forgets it once it is answered.
    func keeper(of subject: Subject) -> ManagerExchange.Keeper {
        let number = self.lock.withLock {
            self.count += 1
            return self.count
        }
        return { request in
            self.lock.withLock {
                self.kept.removeAll { $0.number == number }
                guard let request else { return }
                self.left += 1
                self.kept.append(Entry(number: number, request: request, subject: subject))
                if self.kept.count > Self.limit { self.kept.removeFirst() }
            }
        }
    }

    /// The number of requests that were sent so far, including answered and forgotten requests. If the number is the
    /// same later, no request was sent since.
    var begun: Int { self.lock.withLock { self.left } }

    /// `true` if no request is kept.
    var isEmpty: Bool { self.lock.withLock { self.kept.isEmpty } }

    /// Sends a kept request again, and returns the server's present answer. `nil` if no request about the subject is
    /// kept, or if the request is too old to be answered: the caller then sends a new request.
    ///
    /// Throws ``Refused``, after which the request is forgotten if the refusal decides something, and the other errors
    /// of `send`, after which the request is kept.
    func settle<Answer: Sendable>(
        where isWanted: (Subject) -> Bool,
        _ send: (ManagerExchange.Proved, Subject) async throws -> ManagerExchange.Answered<Answer>?
    ) async throws -> (answer: ManagerExchange.Answered<Answer>, subject: Subject)? {
        guard let entry = self.lock.withLock({ self.kept.first { isWanted($0.subject) } }) else { return nil }
        do {
            let answer = try await send(entry.request, entry.subject)
            self.forget(entry.number)
            return answer.map { (answer: $0, subject: entry.subject) }
        } catch let error as Refused {
            if !error.problem.code.decidesNothing { self.forget(entry.number) }
            throw error
        }
    }

    private func forget(_ number: Int) { self.lock.withLock { self.kept.removeAll { $0.number == number } } }

    /// Forgets all requests, because their step is over.
    func forget() { self.lock.withLock { self.kept = [] } }

    /// The type's name only, because a subject can be a secret.
    var description: String { "UnansweredRequests" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The number of the last signatures that were sent for each activation. The server can no longer judge earlier
/// signatures that arrive after these: their counters are lower, and a server takes a key with a decreasing counter for
/// a copy.
// Safe to share: every access to `numbers` is within `lock`.
final class LastSignatures: @unchecked Sendable {
    private let lock = NSLock()
    private var numbers: [ExactText: Int] = [:]

    /// Notes signatures that are about to be sent, and returns their number.
    func next(of activation: String) -> Int {
        self.lock.withLock {
            let number = self.numbers[ExactText(activation), default: 0] + 1
            self.numbers[ExactText(activation)] = number
            return number
        }
    }

    /// Returns `true` if no other signatures were sent since.
    func isLast(_ number: Int, of activation: String) -> Bool {
        self.lock.withLock { self.numbers[ExactText(activation)] == number }
    }
}
