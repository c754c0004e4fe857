import Countersign
import CountersignTestKit
import Foundation

/// What the listings leave to an app: a person who answers by a script.
enum YourImplementation {
    struct Script: Sendable {
        var role: @Sendable ([Role]) -> Role = { $0[0] }
        var names = ["Ada"]
        var alias: @Sendable (Set<PersonalInformationAlias>) -> PersonalInformationAlias = { $0.first! }
        var pins = ["824193"]
        /// What happens before a PIN is asked for again.
        var beforeNextPin: @Sendable () -> Void = {}
        /// What the person was shown.
        var errorTexts: [String?] = []
        var shownRoles: [String] = []
    }

    private static let lock = NSLock()
    // Safe to share: every access is within `lock`.
    nonisolated(unsafe) private static var state = Script()

    static var script: Script {
        get { self.lock.withLock { self.state } }
        set { self.lock.withLock { self.state = newValue } }
    }

    static func displayRoleSelection(_ roles: [Role]) -> Role {
        self.script.shownRoles = roles.map(\.name)
        return self.script.role(roles)
    }

    static func askTheUserForData(minLength: Int, maxLength: Int, errorText: String?) -> String {
        self.lock.withLock {
            self.state.errorTexts.append(errorText)
            return self.state.names.count > 1 ? self.state.names.removeFirst() : self.state.names[0]
        }
    }

    static func displayAliasSelection(_ aliases: Set<PersonalInformationAlias>) -> PersonalInformationAlias {
        self.script.alias(aliases)
    }

    static func askUserForPin() -> String {
        let (pin, isRepeated) = self.lock.withLock { () -> (String, Bool) in
            guard self.state.pins.count > 1 else { return (self.state.pins[0], true) }
            return (self.state.pins.removeFirst(), false)
        }
        if isRepeated { self.script.beforeNextPin() }
        return pin
    }

    static func getBiometricFactor() throws -> BiometricFactor {
        let sdk = CountersignSDK.shared
        let identity = try sdk.personalizer.personalizedIdentities[0]
        return try sdk.biometrics.factorSynchronous(idmIdentifier: identity.idmIdentifier)
    }
}

/// The error of an app.
enum YourError: Error {
    case yourErrorCase
}
