import Records
import UAF
public import _Primitives

/// The dispatchers of a server: back ends can use these and no others (decision 110). The names, the members and the
/// results of dispatches in the OpenAPI document follow from the list.
public struct Dispatchers: Sendable {
    /// The dispatchers, in the order of their registration.
    public let all: [any Dispatcher]

    /// The dispatchers that every server has unless the server's program says otherwise.
    public static let standard = Dispatchers(checked: [
        LinkQRCodeDispatcher(), LinkDispatcher(), QRCodeDispatcher(), DeviceStreamDispatcher(),
    ])

    /// Registers dispatchers. An empty list is possible: then every dispatch is answered with `dispatcherNotFound`.
    ///
    /// Throws ``DispatchersError`` for a name that no dispatcher can have, for a name that two dispatchers have, and
    /// for a channel that does not fit its dispatcher.
    public init(_ all: [any Dispatcher]) throws(DispatchersError) {
        for (index, dispatcher) in all.enumerated() {
            let name = dispatcher.name
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isLetterOfName) else {
                throw DispatchersError(.invalidName, "\(type(of: dispatcher)) has no name, or a name of other letters")
            }
            guard !all[..<index].map(\.name).containsBytes(of: name) else {
                throw DispatchersError(.repeatedName, "two dispatchers are named \(name)")
            }
            guard dispatcher.channel != .typed else {
                throw DispatchersError(.unfitChannel, "\(name): only the sign-in page has typed codes")
            }
            guard dispatcher.channel.needsTarget == (dispatcher is any DeliveringDispatcher) else {
                throw DispatchersError(
                    .unfitChannel, "\(name): a channel to a device, and a dispatcher with targets, need each other")
            }
        }
        self.init(checked: all)
    }

    /// Returns the list with a further dispatcher at its end. Throws as ``init(_:)``.
    public func adding(_ dispatcher: any Dispatcher) throws(DispatchersError) -> Dispatchers {
        try Dispatchers(self.all + [dispatcher])
    }

    private init(checked all: [any Dispatcher]) { self.all = all }

    /// The names, in the order of the registration.
    public var names: [String] { self.all.map(\.name) }
    /// `true` if a dispatcher sends to a single device: a dispatch can have `dispatchTargetId`.
    public var haveTargets: Bool { self.all.contains { $0 is any DeliveringDispatcher } }
    /// `true` if a dispatcher takes data of back ends: a dispatch can have `dispatchInformation`.
    public var takeInformation: Bool { self.all.contains(where: \.takesInformation) }
    /// The possible results of a dispatch.
    public var results: [DispatchResult] { DispatchResult.allCases.filter { self.haveTargets || !$0.isOfTarget } }

    private static func isLetterOfName(_ letter: UInt8) -> Bool {
        switch letter {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// The reason why dispatchers cannot be registered. Two errors are equal if their codes are equal.
public struct DispatchersError: CodedError {
    /// The kind of the error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case invalidName, repeatedName, unfitChannel }
        private let base: Base
        /// A dispatcher has no name, or a name with other letters than lower-case letters of ASCII, digits and hyphens.
        public static let invalidName = Self(base: .invalidName)
        /// Two dispatchers have the same name.
        public static let repeatedName = Self(base: .repeatedName)
        /// The channel is for typed codes, or only one of channel and dispatcher needs a target.
        public static let unfitChannel = Self(base: .unfitChannel)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// Advice for the author of the program that registers the dispatchers.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

// MARK: - The dispatcher of a request

extension Dispatchers {
    /// Returns the dispatcher with targets that has a name; `nil` if no such dispatcher exists.
    func delivering(_ name: String) -> (any DeliveringDispatcher)? {
        self.all.first { $0.name.hasSameBytes(as: name) } as? any DeliveringDispatcher
    }

    /// Returns the dispatcher that a request names; `nil` if no dispatcher has the name.
    ///
    /// Throws `invalidRequest` if the target is missing or is not needed, and for data that the dispatcher does not
    /// take: the back end would wait for an effect that never comes.
    func dispatcher(of request: DispatchRequest) throws(CeremonyError) -> ChosenDispatcher? {
        guard let dispatcher = self.all.first(where: { $0.name.hasSameBytes(as: request.dispatcher) }) else {
            return nil
        }
        guard request.information == nil || dispatcher.takesInformation else {
            throw CeremonyError(.invalidRequest, "dispatchInformation for a dispatcher that takes none")
        }
        guard dispatcher is any DeliveringDispatcher else {
            guard request.target == nil else {
                throw CeremonyError(.invalidRequest, "dispatchTargetId for a dispatcher that sends to no single device")
            }
            return ChosenDispatcher(dispatcher: dispatcher, target: nil, information: request.information)
        }
        guard let id = request.target else {
            throw CeremonyError(.invalidRequest, "no dispatchTargetId for a dispatcher that sends to a single device")
        }
        return ChosenDispatcher(dispatcher: dispatcher, target: id, information: request.information)
    }
}

/// The dispatcher of a request, with the members of the request that only the dispatcher reads.
struct ChosenDispatcher: Sendable {
    let dispatcher: any Dispatcher
    /// The identifier of the target, as the back end sent the identifier; `nil` for a dispatcher without targets.
    let target: String?
    let information: JSONObject?

    /// The values that the dispatcher has made, or the result of a dispatch that does not happen.
    enum Preparation {
        case ready(DispatcherInformation, DispatchMessage?)
        case refused(DispatchResult)
    }

    /// Has the dispatcher make its values for a ceremony. Throws `invalidRequest` in the dispatcher's own words.
    func prepare(
        _ operation: DispatchedOperation, for ceremony: CeremonyRecord, _ targets: DispatchTargets
    ) async throws(CeremonyError) -> Preparation {
        do {
            let information = try self.dispatcher.dispatcherInformation(for: operation)
            guard information.canBeDrawn else { return .refused(.internalError) }
            switch try await self.delivery(of: operation, for: ceremony, targets) {
            case nil: return .ready(information, nil)
            case .message(let message)?: return .ready(information, message)
            case .targetNotFound?: return .refused(.dispatchTargetNotFound)
            case .targetExpired?: return .refused(.dispatchTargetExpired)
            }
        } catch let error as CeremonyError where error.code == .invalidRequest {
            throw error
        } catch {
            return .refused(.internalError)
        }
    }

    /// Returns what the target gets; `nil` for a dispatcher without targets.
    private func delivery(
        of operation: DispatchedOperation, for ceremony: CeremonyRecord, _ targets: DispatchTargets
    ) async throws -> DispatchDelivery? {
        guard let target = self.target else { return nil }
        return switch self.dispatcher {
        case let dispatcher as any DeviceDispatcher:
            try await targets.delivery(of: operation, to: target, by: dispatcher, for: ceremony)
        case let dispatcher as any TargetedDispatcher: try await dispatcher.delivery(of: operation, to: target)
        default: nil
        }
    }
}
