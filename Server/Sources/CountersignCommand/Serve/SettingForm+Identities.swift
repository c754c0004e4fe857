import CeremonyEngine
import Foundation
import UAF
import _Primitives

extension SettingForm<[[AuthenticatorType]]> {
    /// `biometric+device,pin+device`: alternatives of factors.
    static var factors: Self {
        Self(
            isList: true, read: { text, _ in try Self.alternatives(of: text) },
            write: { $0.map { $0.map(\.rawValue).joined(separator: "+") }.joined(separator: ",") })
    }

    /// Reads `biometric+device,pin+device`: alternatives of types.
    ///
    /// Throws a usage ``CommandFailure`` for an unknown type, and for a combination that no role could request either.
    /// Throws also if every alternative has a finger in it: adding a finger is itself an action that these factors
    /// sign.
    private static func alternatives(of text: String) throws -> [[AuthenticatorType]] {
        let known = AuthenticatorType.allCases.filter { !$0.isReserved }
        let names = known.map(\.rawValue).joined(separator: ", ")
        var alternatives: [[AuthenticatorType]] = []
        for alternative in text.split(separator: ",", omittingEmptySubsequences: false) {
            var types: [AuthenticatorType] = []
            for word in alternative.split(separator: "+", omittingEmptySubsequences: false) {
                let name = word.trimmingCharacters(in: .whitespaces)
                guard let type = known.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
                    throw CommandFailure(
                        .usage, "accountFactors names a factor that there is not: \(name)",
                        remedy: "There are \(names), put together as in biometric+device,pin+device.")
                }
                types.append(type)
            }
            alternatives.append(types)
        }
        do throws(AuthenticatorMatrixError) {
            alternatives = try AuthenticatorMatrix(alternatives).alternatives
        } catch {
            let reason =
                switch error.code {
                case .silentAlone: "the device alone signs without its person; add pin or biometric to it"
                case .tooMany: "there are at most \(AuthenticatorMatrix.maximumAlternatives) alternatives"
                default: "each alternative is there once, and each factor of one once"
                }
            throw CommandFailure(.usage, "accountFactors: \(reason)")
        }
        guard alternatives.contains(where: { !$0.contains(.biometric) }) else {
            throw CommandFailure(
                .usage,
                "accountFactors: one alternative has to do without biometric, because adding a finger or a face is signed with these factors, too",
                remedy: "Add an alternative of the PIN, as in \(text),pin+device.")
        }
        return alternatives
    }
}

extension SettingForm<ClosedRange<Int>> {
    /// `6-12`: the fewest and the most characters of a PIN.
    static var lengths: Self {
        Self(read: { text, _ in try Self.bounds(of: text) }, write: { "\($0.lowerBound)-\($0.upperBound)" })
    }

    /// Reads `6-12`: the fewest and the most characters of a PIN, within the range that every app supports.
    ///
    /// Throws a usage ``CommandFailure`` for anything else.
    private static func bounds(of text: String) throws -> ClosedRange<Int> {
        let widest = IdentityRules.anyPinLength
        let bounds = text.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int($0) }
        guard bounds.count == 2, bounds[0] <= bounds[1], widest.contains(bounds[0]), widest.contains(bounds[1]),
            text.hasSameBytes(as: "\(bounds[0])-\(bounds[1])")
        else {
            throw CommandFailure(
                .usage,
                "pinLength takes LEAST-MOST, as 6-12, from \(widest.lowerBound) to \(widest.upperBound), not \(text)")
        }
        return bounds[0]...bounds[1]
    }
}
