import Records
import Testing
import _Primitives

/// Two processes of one client share what they keep, and a thief may have a copy of any one token. Messages are lost,
/// delayed by less than a minute and doubled. Every order of twelve events is tried.
@Suite("Decision 28 and RFC 9700, section 4.14: a family of refresh tokens in every order of events")
struct RefreshModelTests {
    /// A rule that a variant of the model leaves out.
    enum Dropped: CaseIterable {
        case sameSuccessor, lateRequests, spacing, timeOfTheParent, endOfTheFamily
    }

    /// What may not happen.
    enum Broken: Equatable {
        /// The client's own requests have ended its family.
        case ownEnd
        /// A token that is older than the rules know has not ended the family.
        case pastTaken
    }

    /// An exchange of a process: a request on its way to the server, or the answer on its way back.
    struct Exchange: Hashable {
        let process: Int
        let token: Int
        let isAnswer: Bool
        let isCopy: Bool
        /// Seconds since the request was sent.
        var age: Int
    }

    struct Model: Hashable, CustomStringConvertible {
        let isBound: Bool
        let hasThief: Bool
        let dropped: Dropped?
        var head = 0
        var parent: Int?
        var grandparent: Int?
        /// Seconds since the first use, by token.
        var usedFor: [Int: Int] = [:]
        /// What the processes keep.
        var kept = 0
        var stolen: Int?
        var flights: [Exchange] = []
        var isOver = false
        var broken: Broken?

        var description: String {
            let flights = self.flights.map {
                "\($0.isCopy ? "copy" : $0.isAnswer ? "answer" : "request") \($0.token) of \($0.process) after \($0.age) s"
            }
            return
                "\nhead \(self.head), used \(self.usedFor.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value) s" }), kept \(self.kept), stolen \(self.stolen.map(String.init) ?? "none"); \(flights.joined(separator: ", "))\(self.isOver ? "; over" : "")"
        }

        private func used(_ token: Int?) -> RefreshFamily.Used? {
            token.map {
                RefreshFamily.Used(digest: [UInt8($0)], firstUsedAt: Self.now - .seconds(self.usedFor[$0] ?? 0))
            }
        }

        private static let now = Timestamp(seconds: 1_800_000_000)
        private static let end = Self.now + .seconds(1_000_000)

        /// The server's answer to a token: the next token, or `nil` for a refusal. The family is that of the real rules.
        mutating func show(_ token: Int, byThief: Bool) -> Int? {
            guard !self.isOver else { return nil }
            let next = (self.usedFor.keys.max() ?? -1) + 2
            let family = RefreshFamily(
                head: [UInt8(self.head)], headEndsAt: Self.end, parent: self.used(self.parent),
                step: self.parent == nil ? nil : [UInt8(self.head)], grandparent: self.grandparent.map { [UInt8($0)] })
            let exchange = RefreshExchange(
                grant: "grant", presented: [UInt8(token)],
                successor: RefreshExchange.Successor(digest: [UInt8(next)], step: [UInt8(next)]), isBound: self.isBound,
                parentLifetime: .seconds(self.dropped == .timeOfTheParent ? 1_000_000 : 600),
                lateRequestTime: self.dropped == .lateRequests ? .zero : .seconds(60), successorEndsAt: Self.end,
                reuse: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: Self.now))
            let verdict = family.verdict(on: exchange, isBound: self.isBound, at: Self.now)
            let isPast = self.isPast(token)
            switch verdict {
            case .next: return self.rotate(from: token, to: next)
            case .same:
                guard self.dropped == .spacing else { return token }
                return self.rotate(from: token, to: next)
            case .again(let step):
                if isPast { self.broken = .pastTaken }
                guard self.dropped == .sameSuccessor else { return Int(step[0]) }
                // The former head is void, as it was before.
                self.head = next
                self.usedFor[next - 1] = self.usedFor[next - 1] ?? 0
                return next
            case .late:
                if isPast { self.broken = .pastTaken }
                return nil
            case .past:
                guard self.dropped != .endOfTheFamily else {
                    if isPast { self.broken = .pastTaken }
                    return nil
                }
                self.isOver = true
                if !self.hasThief { self.broken = .ownEnd }
                return nil
            }
        }

        private mutating func rotate(from token: Int, to next: Int) -> Int {
            self.grandparent = self.parent
            self.parent = token
            self.head = next
            self.usedFor[token] = 0
            return next
        }

        /// What the rules say in words, by the order of the tokens alone: whether a token has to end the family.
        private func isPast(_ token: Int) -> Bool {
            if token == self.head { return false }
            let age = self.usedFor[token] ?? 0
            if token == self.parent { return !self.isBound && age >= 600 }
            return token != self.grandparent || (self.parent.flatMap { self.usedFor[$0] } ?? 0) >= 60
        }

        /// All that can happen next.
        var following: [Model] {
            var models: [Model] = []
            func add(_ change: (inout Model) -> Void) {
                var model = self
                change(&model)
                model.flights.sort {
                    ($0.process, $0.isAnswer ? 1 : 0, $0.age) < ($1.process, $1.isAnswer ? 1 : 0, $1.age)
                }
                models.append(model)
            }
            for process in 0..<2 where !self.flights.contains(where: { $0.process == process && !$0.isCopy }) {
                add {
                    $0.flights.append(
                        Exchange(process: process, token: $0.kept, isAnswer: false, isCopy: false, age: 0))
                }
            }
            for (index, flight) in self.flights.enumerated() {
                if flight.isAnswer {
                    add {
                        $0.flights.remove(at: index)
                        $0.kept = flight.token
                    }
                } else {
                    // Delivered once, and delivered with a copy that follows.
                    for isDoubled in flight.isCopy ? [false] : [false, true] {
                        add {
                            $0.flights.remove(at: index)
                            if isDoubled {
                                $0.flights.append(
                                    Exchange(
                                        process: flight.process, token: flight.token, isAnswer: false, isCopy: true,
                                        age: flight.age))
                            }
                            if let given = $0.show(flight.token, byThief: false), !flight.isCopy {
                                $0.flights.append(
                                    Exchange(
                                        process: flight.process, token: given, isAnswer: true, isCopy: false,
                                        age: flight.age))
                            }
                        }
                    }
                }
                add { $0.flights.remove(at: index) }
            }
            if self.hasThief {
                if self.stolen == nil {
                    add { $0.stolen = $0.kept }
                } else if let stolen = self.stolen {
                    add { $0.stolen = $0.show(stolen, byThief: true) ?? stolen }
                }
            }
            // Messages are on their way for less than a minute. A client that nothing binds does not wait for ten minutes
            // with a token that was used.
            if self.flights.allSatisfy({ $0.age + 29 < 60 }) { add { $0.pass(29) } }
            if self.flights.isEmpty, self.isBound || self.kept == self.head || self.hasThief { add { $0.pass(700) } }
            return models
        }

        private mutating func pass(_ seconds: Int) {
            // Past ten minutes all ages are alike.
            for token in self.usedFor.keys { self.usedFor[token] = min(700, (self.usedFor[token] ?? 0) + seconds) }
            for index in self.flights.indices { self.flights[index].age += seconds }
        }
    }

    /// Tries every order of `depth` events. Returns what broke first, the states that led there, and how many states there
    /// were.
    private func explore(_ begin: Model, depth: Int) -> (broken: Broken?, path: [Model], states: Int) {
        var before: [Model: Model?] = [begin: nil]
        var front = [begin]
        for _ in 0..<depth {
            var next: [Model] = []
            for model in front where !model.isOver {
                for following in model.following where before[following] == nil {
                    before[following] = .some(model)
                    if let broken = following.broken {
                        let path = Array(sequence(first: following) { before[$0] ?? nil }.reversed())
                        return (broken, path, before.count)
                    }
                    next.append(following)
                }
            }
            front = next
        }
        return (nil, [], before.count)
    }

    @Test("no order of a client's own requests ends its family", arguments: [true, false])
    func own(isBound: Bool) {
        let found = self.explore(Model(isBound: isBound, hasThief: false, dropped: nil), depth: 12)
        #expect(found.broken == nil && found.states > 1000, "\(found.states) states, \(found.path)")
    }

    @Test("a token that is older than the rules know ends the family, whoever shows it", arguments: [true, false])
    func past(isBound: Bool) {
        let found = self.explore(Model(isBound: isBound, hasThief: true, dropped: nil), depth: 9)
        #expect(found.broken == nil && found.states > 1000, "\(found.states) states, \(found.path)")
    }

    @Test("without any one of the rules one of the two is broken", arguments: Dropped.allCases)
    func eachRule(dropped: Dropped) {
        let found = [false, true].map { hasThief in
            self.explore(Model(isBound: false, hasThief: hasThief, dropped: dropped), depth: hasThief ? 9 : 12).broken
        }
        #expect(found.contains { $0 != nil })
    }
}
