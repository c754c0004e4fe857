@_exported import Glibc

public func sysctlbyname(
    _ name: String, _ old: UnsafeMutableRawPointer?, _ oldLength: UnsafeMutablePointer<Int>?,
    _ new: UnsafeMutableRawPointer?, _ newLength: Int
) -> Int32 { -1 }
