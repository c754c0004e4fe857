@_exported import Foundation

// CoreFoundation, which Apple's Foundation exports.
public typealias CFString = NSString
public typealias CFDictionary = NSDictionary
public typealias CFError = NSError
public typealias CFTypeRef = AnyObject
public typealias CFAllocator = NSObject
public typealias OSStatus = Int32

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier identifier: String) -> URL? { nil }
}

public final class SecAccessControl: NSObject {}

public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let biometryAny = Self(rawValue: 1 << 1)
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
    public static let devicePasscode = Self(rawValue: 1 << 4)
    public static let or = Self(rawValue: 1 << 14)
    public static let privateKeyUsage = Self(rawValue: 1 << 30)
}

public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? { nil }

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemUpdate(_ query: CFDictionary, _ change: CFDictionary) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }

// Constants: never written.
nonisolated(unsafe) public let kSecClass: CFString = "class"
// Constants: never written.
nonisolated(unsafe) public let kSecClassGenericPassword: CFString = "genp"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrService: CFString = "svce"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccount: CFString = "acct"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = "agrp"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = "sync"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessible: CFString = "pdmn"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
// Constants: never written.
nonisolated(unsafe) public let kSecAttrAccessControl: CFString = "accc"
// Constants: never written.
nonisolated(unsafe) public let kSecUseDataProtectionKeychain: CFString = "nleg"
// Constants: never written.
nonisolated(unsafe) public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
// Constants: never written.
nonisolated(unsafe) public let kSecValueData: CFString = "v_Data"
// Constants: never written.
nonisolated(unsafe) public let kSecReturnData: CFString = "r_Data"
// Constants: never written.
nonisolated(unsafe) public let kSecMatchLimit: CFString = "m_Limit"
// Constants: never written.
nonisolated(unsafe) public let kSecMatchLimitOne: CFString = "m_LimitOne"
