@_exported import Foundation
public import Security

public enum LAPolicy: Int, Sendable {
    case deviceOwnerAuthenticationWithBiometrics = 1
    case deviceOwnerAuthentication = 2
}

public enum LAAccessControlOperation: Int, Sendable { case useItem, createItem, createKey, useKeySign }

public enum LABiometryType: Int, Sendable { case none, touchID, faceID, opticID }

public class LADomainStateBiometry: NSObject {
    public var stateHash: Data? { nil }
}

public class LADomainState: NSObject {
    public var biometry: LADomainStateBiometry { LADomainStateBiometry() }
}

open class LAContext: NSObject {
    public override init() { super.init() }
    open var localizedFallbackTitle: String?
    open var localizedCancelTitle: String?
    open var interactionNotAllowed = false
    open var biometryType: LABiometryType { .none }
    open var evaluatedPolicyDomainState: Data? { nil }
    open var domainState: LADomainState { LADomainState() }
    open func canEvaluatePolicy(_ policy: LAPolicy, error: UnsafeMutablePointer<NSError?>?) -> Bool { false }
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {}
    open func invalidate() {}
}
