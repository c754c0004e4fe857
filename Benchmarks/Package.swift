// swift-tools-version: 6.2
import PackageDescription

/// The load generator of `make bench`. A package of its own, so that neither an app nor the server resolves it.

let package = Package(
    name: "countersign-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "countersign", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .executableTarget(
            name: "LoadGenerator",
            dependencies: [
                .product(name: "CountersignProtocols", package: "countersign"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("ExistentialAny"),
                .treatAllWarnings(as: .error),
            ])
    ],
    swiftLanguageModes: [.v6]
)
